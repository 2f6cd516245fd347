"""How output appears: all of it, in one step, or not at all.

On a local disk a directory is filled beside its destination and renamed when it
is complete. On an object store, which cannot rename, files get names of their
own run and the header, written last, is the commit: readers take only files that
it names.
"""

import ctypes
import fcntl
import json
import os
import re
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from brokerwise.model.errors import InputError
from brokerwise.storage.place import Place

_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD


@dataclass
class Output:
    """A directory under construction: `commit` makes it appear, `abort` forgets it.

    `header` is the name of its JSON file; write everything else below `root`.
    """

    out: Place
    header: str
    root: Place
    run: str
    _lock: IO[str] | None = field(default=None, repr=False)

    @classmethod
    def begin(cls, out: Place, header: str, *, force: bool) -> "Output":
        """Refuse what may not be replaced; clear what killed runs left behind."""
        _refuse_existing(out, header, force)
        run = uuid.uuid4().hex[:12]
        target = out.local
        if target is None:
            return cls(out, header, out, run)
        _clear_abandoned(target)
        root = target.parent / f".{target.name}.{run}"
        root.mkdir(parents=True)
        lock = (root.parent / f"{root.name}.lock").open("w")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return cls(out, header, Place(str(root)), run, lock)

    def part(self, number: int) -> str:
        """The file name of a table's part."""
        suffix = "" if self.root != self.out else f"-{self.run}"
        return f"part-{number:05d}{suffix}.parquet"

    def commit(self, header: Mapping[str, Any]) -> None:
        """Make it appear at `out`, in place of what was there."""
        old = self._named_files() if self.root == self.out else set()
        text = json.dumps(header, indent=2, ensure_ascii=False) + "\n"
        (self.root / self.header).write(text.encode())
        target, source = self.out.local, self.root.local
        if target is not None and source is not None:
            _replace(source, target)
            self._unlock()
            return
        for name in old - named_files(header):
            (self.out / name).delete()

    def abort(self) -> None:
        """Remove what was written; what was at `out` before stays."""
        source = self.root.local
        if self.root != self.out and source is not None:
            shutil.rmtree(source, ignore_errors=True)
        self._unlock()

    def _named_files(self) -> set[str]:
        header = self.out / self.header
        return named_files(json.loads(header.read())) if header.exists() else set()

    def _unlock(self) -> None:
        if self._lock is not None:
            Path(self._lock.name).unlink(missing_ok=True)
            self._lock.close()
            self._lock = None


def named_files(header: Mapping[str, Any]) -> set[str]:
    """The files, relative to the directory, that a header names."""
    return {
        f"{table}/{name}" for table, names in header["files"].items() for name in names
    }


def _refuse_existing(out: Place, header: str, force: bool) -> None:
    """Refuse to replace what is there, unless told to and it is one of ours."""
    local = out.local
    if not out.exists() or (local and local.is_dir() and not any(local.iterdir())):
        return
    if not (out / header).exists():
        raise InputError(
            f"{out.uri} exists and is not a {header.removesuffix('.json')} directory; "
            "nothing was written",
            hint="Choose another --out.",
        )
    if not force:
        raise InputError(
            f"{out.uri} exists already; nothing was written",
            hint="Replace it with --force, or choose another --out.",
        )


def _clear_abandoned(target: Path) -> None:
    """Remove what runs that were killed left beside `target`.

    A living run holds the lock of its own directory.
    """
    if not target.parent.is_dir():
        return
    pattern = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.lock")
    for path in target.parent.iterdir():
        if pattern.fullmatch(path.name):
            with path.open("w") as lock:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    continue
                shutil.rmtree(path.with_suffix(""), ignore_errors=True)
                path.unlink(missing_ok=True)


def _replace(source: Path, target: Path) -> None:
    """Rename `source` to `target`.

    Where the system can exchange two directories, there is no moment without one.
    """
    if not target.exists():
        os.rename(source, target)
        return
    if not _exchange(source, target):
        old = source.with_name(source.name + ".old")
        os.rename(target, old)
        os.rename(source, target)
        source = old
    shutil.rmtree(source)


def _exchange(one: Path, other: Path) -> bool:
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    failed = renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return not failed
