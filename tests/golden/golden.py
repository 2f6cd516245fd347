"""Golden files: what others rely on, written down.

`compare(name, found)` fails, with the difference, if what was found is not what
`files/NAME.json` says. `GOLDEN=write pytest tests/golden` writes the files again.

A golden file changes only in a commit of its own that says why: whoever reads the
history finds every change of what clients and operators see in it, and nothing else.
"""

import difflib
import json
import os
from pathlib import Path

import pytest

Json = object  # what `json` reads and writes
FILES = Path(__file__).parent / "files"
WIDTH = 88


def compare(name: str, found: Json) -> None:
    path, text = FILES / f"{name}.json", pretty(found) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    if text != expected:
        lines = difflib.unified_diff(
            expected.splitlines(), text.splitlines(), str(path), "found", lineterm=""
        )
        pytest.fail("\n".join(lines), pytrace=False)


def known(name: str, found: set[str]) -> None:
    """As `compare`, of names of which only some are seen each time."""
    path = FILES / f"{name}.json"
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else []
    compare(name, sorted({*before, *found}))


def pretty(value: Json, indent: int = 0, used: int = 0) -> str:
    """Sorted keys; on one line what fits on one, `used` columns of which are taken."""
    flat = json.dumps(value, sort_keys=True, ensure_ascii=False)
    if indent + used + len(flat) < WIDTH or not isinstance(value, dict | list):
        return flat
    inner, margin = indent + 2, " " * (indent + 2)
    if isinstance(value, dict):
        keys = [(json.dumps(key, ensure_ascii=False) + ": ", key) for key in value]
        parts = [
            margin + head + pretty(value[key], inner, len(head))
            for head, key in sorted(keys)
        ]
        return "{\n" + ",\n".join(parts) + "\n" + " " * indent + "}"
    parts = [margin + pretty(each, inner) for each in value]
    return "[\n" + ",\n".join(parts) + "\n" + " " * indent + "]"
