"""What a fleet keeps in its directory."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from tests.golden.forms import shape

_OWNERS = ("fleet.json", "lock", "secret")  # whoever reads these can do anything


def names(state: Path) -> dict[str, str]:
    """All there is; of what is for its owner alone, that it is."""
    found = {}
    for path in sorted(state.rglob("*")):
        name = str(path.relative_to(state)) + ("/" if path.is_dir() else "")
        if path.name in _OWNERS:
            found[name] = f"{path.stat().st_mode & 0o777:o}"
        elif path.suffix == ".parquet":
            continue
        else:
            found[name] = ""
    return found


def fleet_file(state: Path) -> Any:
    return shape(json.loads((state / "fleet.json").read_text()))


def schema(path: Path) -> dict[str, Any]:
    """Tables and indexes without comments and line ends, and the version."""
    with closing(sqlite3.connect(path)) as sql:
        rows = sql.execute("SELECT type, name, sql FROM sqlite_master WHERE sql <> ''")
        found = {f"{kind} {name}": _plain(text) for kind, name, text in rows}
        (version,) = sql.execute("PRAGMA user_version").fetchone()
        (journal,) = sql.execute("PRAGMA journal_mode").fetchone()
    return {"user_version": version, "journal_mode": journal, **found}


def _plain(text: str) -> str:
    text = re.sub(r"--[^\n]*", "", text)
    text = re.sub(r"\s+", " ", text)
    return re.sub(r" ?([(),]) ?", r"\1", text).replace(",", ", ")
