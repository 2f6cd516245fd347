"""Results that take long, kept one by one: a run that was interrupted goes on."""

import hashlib
import json
import os
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from brokerwise.model.errors import InputError

Result = dict[str, Any]

_FOLDER = "cells"
_MARK = "reproduce.json"  # says that a directory is ours
# What decides results; a change elsewhere cannot alter them.
_DECISIVE = (
    *("model", "kernels", "planners", "latency", "experiments"),
    *("runtime/balancing", "runtime/simulation"),
)


@dataclass
class Cells:
    """Results of one experiment below a directory, a JSON file each.

    A file appears when its result is complete, so at any time the directory holds
    whole results only. A result is taken again if it was made from the same inputs;
    `fresh` takes none. `outdated` counts those taken that other code has made.
    """

    root: Path
    fresh: bool = False
    code: str = field(default_factory=lambda: code_digest())
    taken: int = 0
    made: int = 0
    outdated: int = 0

    @classmethod
    def open(cls, root: Path, experiment: str, *, fresh: bool = False) -> "Cells":
        """The cells of a directory, which is made if it is not there.

        Raises InputError for one that holds something else.
        """
        mark = root / _MARK
        if mark.is_file():
            found = read_result(mark)["experiment"]
            if found != experiment:
                raise InputError(
                    f"{root} holds results of {found!r}, not of {experiment!r}",
                    hint="Choose another --out.",
                )
        elif root.exists() and (not root.is_dir() or any(root.iterdir())):
            raise InputError(
                f"{root} exists and is no directory of results; nothing was written",
                hint="Choose another --out.",
            )
        cells = cls(root, fresh)
        (root / _FOLDER).mkdir(parents=True, exist_ok=True)
        write_result(mark, {"experiment": experiment})
        return cells

    def get(
        self, name: str, inputs: Mapping[str, Any], make: Callable[[], Result]
    ) -> Result:
        """The result of this name and these inputs: the one kept, or a new one."""
        kept = self.kept(name, inputs)
        return self.keep(name, inputs, make()) if kept is None else kept

    def kept(self, name: str, inputs: Mapping[str, Any]) -> Result | None:
        """The result of this name and these inputs, if there is one to take."""
        found = None if self.fresh else _kept(self._path(name))
        if found is None or found["inputs"] != _plain(inputs):
            return None
        self.taken += 1
        self.outdated += found["code"] != self.code
        result: Result = found["result"]
        return result

    def keep(self, name: str, inputs: Mapping[str, Any], result: Result) -> Result:
        """Write a result; returns it as a later run will read it."""
        path = self._path(name)
        made = {"inputs": _plain(inputs), "code": self.code, "result": result}
        write_result(path, made)
        self.made += 1
        again: Result = read_result(path)["result"]
        return again

    def _path(self, name: str) -> Path:
        return self.root / _FOLDER / f"{name}.json"


def code_digest() -> str:
    """A digest of the source that results depend on."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for folder in _DECISIVE:
        for source in sorted((package / folder).rglob("*.py")):
            name = source.relative_to(package).as_posix()
            digest.update(name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def read_result(path: Path) -> Result:
    found: Result = json.loads(path.read_text(encoding="utf-8"))
    return found


def write_result(path: Path, result: Mapping[str, Any]) -> None:
    """Write a JSON file, which appears when it is complete."""
    write_whole(path, json.dumps(result, indent=1, ensure_ascii=False) + "\n")


def write_whole(path: Path, text: str) -> None:
    """Write a text file, which appears when it is complete."""
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex[:12]}")
    try:
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _plain(inputs: Mapping[str, Any]) -> Any:
    """Inputs as they are once JSON has held them."""
    return json.loads(json.dumps(dict(inputs)))


def _kept(path: Path) -> Result | None:
    """What a file holds; nothing if there is none, or none that can be used."""
    try:
        found = read_result(path)
    except (OSError, ValueError):
        return None
    whole = isinstance(found, dict) and {"inputs", "code", "result"} <= set(found)
    return found if whole else None
