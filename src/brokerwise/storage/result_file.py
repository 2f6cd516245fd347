"""The result of a command, kept as JSON beside what it made: reports are made of it."""

import json
import os
import uuid
from collections.abc import Mapping
from typing import Any

from brokerwise.storage.place import Place

RESULT = "result.json"


def keep_result(directory: Place, result: Mapping[str, Any]) -> None:
    """Write `result.json`, which appears when it is complete."""
    text = json.dumps(result, indent=1, ensure_ascii=False)
    # A file name that is not Unicode turns into what is a JSON escape, too.
    content = (text + "\n").encode(errors="backslashreplace")
    folder = directory.local
    if folder is None:
        (directory / RESULT).write(content)
        return
    draft = folder / f".{RESULT}.{uuid.uuid4().hex[:12]}"
    try:
        draft.write_bytes(content)
        os.replace(draft, folder / RESULT)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
