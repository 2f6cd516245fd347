"""Runs on a local disk: each fills a directory of its own beside the destination.

The run R of `dir` has `.dir.R`, for its tasks `.dir.R.attempts`, and holds the lock of
`.dir.R.lock` while it lives.
"""

import ctypes
import fcntl
import os
import re
import shutil
import uuid
from pathlib import Path
from typing import IO

ATTEMPTS = ".attempts"
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD


def locked_run(target: Path) -> tuple[str, IO[str]]:
    """A new run and its lock, which the process holds until it ends."""
    while True:
        run = uuid.uuid4().hex[:12]
        path = target.with_name(f".{target.name}.{run}.lock")
        lock = path.open("x")
        fcntl.flock(lock, fcntl.LOCK_EX)
        if path.exists():
            return run, lock
        # Between the last two steps another run took it for abandoned.
        lock.close()


def clear_abandoned(target: Path) -> None:
    """Remove what runs that were killed left beside `target`.

    A living run holds the lock of its own directory.
    """
    if not target.parent.is_dir():
        return
    pattern = re.compile(re.escape(f".{target.name}.") + r"[0-9a-f]{12}\.lock")
    for path in target.parent.iterdir():
        if pattern.fullmatch(path.name):
            try:
                lock = path.open("r+")
            except OSError:  # over in the meantime, or not ours to touch
                continue
            with lock:
                _clear_if_abandoned(lock, path, target)


def _clear_if_abandoned(lock: IO[str], path: Path, target: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    old = _set_aside(path.with_suffix(""))
    if old.exists() and not target.exists():
        os.rename(old, target)  # killed between the two renames of `replace_directory`
    remove_run(lock)


def remove_run(lock: IO[str]) -> None:
    """Remove all that a run has, and the file of its lock if nothing is left."""
    path = Path(lock.name)
    root = path.with_suffix("")
    old, attempts = _set_aside(root), root.with_name(f"{root.name}{ATTEMPTS}")
    for directory in (root, old):
        shutil.rmtree(directory, ignore_errors=True)
    if attempts.exists() and not root.exists():
        os.rename(attempts, root)  # tasks that still run do not find it any more
        shutil.rmtree(root, ignore_errors=True)
    if not any(directory.exists() for directory in (root, old, attempts)):
        path.unlink(missing_ok=True)


def replace_directory(source: Path, target: Path) -> None:
    """Rename `source` to `target`.

    Where the system can exchange two directories, there is no moment without one.
    """
    if not target.exists():
        os.rename(source, target)
        return
    if not _exchange(source, target):
        old = _set_aside(source)
        os.rename(target, old)
        try:
            os.rename(source, target)
        except BaseException:
            os.rename(old, target)
            raise
        source = old
    shutil.rmtree(source)


def _set_aside(root: Path) -> Path:
    return root.with_name(f"{root.name}.old")


def _exchange(one: Path, other: Path) -> bool:
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        return False
    failed = renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE)
    return not failed
