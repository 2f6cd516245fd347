"""The directory that a series of measurements grows in.

    measuring.json   what is measured, and on what: written first
    logs/            a file a configuration, which appears when it is complete
    rows.parquet, latency.json   what the logs come to, made from them again and again

A run that was interrupted goes on with the configurations that have no log.
"""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import (
    HEADER,
    LatencyHeader,
    latency_header,
    rows_table,
)
from brokerwise.storage.latency_logs import FOLDER, log_name, logged
from brokerwise.storage.place import Place
from brokerwise.storage.tables import write_table

MARK = "measuring.json"
_ROWS = "rows.parquet"
_LOCK = ".lock"
_OURS = {MARK, _ROWS, HEADER, FOLDER, _LOCK}


class Directory:
    """One that is open: nobody else measures into it meanwhile."""

    def __init__(self, root: Path, settings: Mapping[str, Any]) -> None:
        self.root = root
        self.settings = settings

    @property
    def logs(self) -> Path:
        return self.root / FOLDER

    def log(self, number: int) -> Path:
        return self.logs / log_name(number)

    def complete(self) -> dict[int, Path]:
        """The logs that are there, by configuration."""
        return logged(self.logs)

    def commit(self, rows: LatencyRows, header: Mapping[str, Any]) -> LatencyHeader:
        """Write rows, and then the header, without which they are not there."""
        made = latency_header(rows, _ROWS, source="measured", **header)
        (self.root / HEADER).unlink(missing_ok=True)
        write_table(Place(str(self.root / _ROWS)), rows_table(rows))
        _write(self.root / HEADER, made.as_json())
        return made


@contextmanager
def measuring_in(
    root: Path, settings: Mapping[str, Any], *, force: bool = False
) -> Iterator[Directory]:
    """The directory, made or gone on in.

    Raises InputError for one that holds something else, that has been begun with
    other settings, or in which another process measures. With `force` it begins anew.
    """
    _refuse_foreign(root)
    try:
        (root / FOLDER).mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise InputError(
            f"{root} cannot be made: {cause.strerror}", hint="Choose another --out."
        ) from cause
    with _locked(root):
        if force:
            _clear(root)
        plain = json.loads(json.dumps(settings))
        _agree(root / MARK, plain)
        yield Directory(root, plain)


def _refuse_foreign(root: Path) -> None:
    if not root.exists() or (root / MARK).is_file():
        return
    if not root.is_dir() or {path.name for path in root.iterdir()} - _OURS:
        raise InputError(
            f"{root} exists and holds no measurements; nothing was written",
            hint="Choose another --out.",
        )


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    descriptor = os.open(root / _LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError as cause:
        raise InputError(f"{root}: another process measures there") from cause
    finally:
        os.close(descriptor)


def _clear(root: Path) -> None:
    for name in (HEADER, _ROWS, MARK):
        (root / name).unlink(missing_ok=True)
    shutil.rmtree(root / FOLDER)
    (root / FOLDER).mkdir()


def _agree(mark: Path, settings: Mapping[str, Any]) -> None:
    """Write down what is measured, or refuse what is not what is written there."""
    if not mark.is_file():
        _write(mark, settings)
        return
    try:
        found = json.loads(mark.read_text(encoding="utf-8"))
    except ValueError as cause:
        raise InputError(
            f"{mark} is not JSON: {cause}", hint="Begin anew with --force."
        ) from cause
    if found == settings:
        return
    raise InputError(
        f"{mark.parent} was begun with other settings; nothing was measured",
        details=_differences(found, settings),
        hint="Go on with the same ones, begin anew with --force, or choose another "
        "--out.",
    )


def _differences(found: Any, wanted: Mapping[str, Any]) -> list[str]:
    before = found if isinstance(found, dict) else {}
    keys = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
    return [f"{key}: found {before.get(key)}, not {wanted.get(key)}" for key in keys]


def _write(path: Path, content: Mapping[str, Any]) -> None:
    """The file appears when it is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")
    draft.replace(path)
