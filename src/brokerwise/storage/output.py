"""How output appears: all of it, in one step, or not at all.

On a local disk a directory is filled beside its destination and renamed when it
is complete. On an object store, which cannot rename, files get names of their
own run and the header, written last, is the commit: readers take only files that
it names.

Beside `dir`, the run R has `.dir.R`, for its tasks `.dir.R.attempts`, and holds the
lock of `.dir.R.lock` while it lives.

Tasks of Spark do not write there. A task may run twice, even at a time, and one that
was given up may go on writing when all is over; so each writes to `attempts`, a
directory beside that never appears, and the driver keeps the files that Spark reports
done. Whoever reads all that is in a directory finds what was committed, no more.
"""

import ctypes
import fcntl
import io
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import fs

from brokerwise.model.errors import InputError
from brokerwise.storage.header import inside, named_files
from brokerwise.storage.place import Place

ATTEMPTS = ".attempts"
_EXCHANGE = 2  # RENAME_EXCHANGE of renameat2(2)
_HERE = -100  # AT_FDCWD
_MARK = re.compile(r"\.run-[0-9a-f]{12}")
RESULT = "result.json"


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


@dataclass
class Output:
    """A directory under construction: `commit` makes it appear, `abort` forgets it.

    `header` is the name of its JSON file; this process writes everything else below
    `root`, and tasks below `attempts`. On an object store `root` is the destination
    itself, so names must be those that `part` and `file` give, or contain `run`.
    """

    out: Place
    header: str
    root: Place
    run: str
    force: bool = False
    _lock: IO[str] | None = field(default=None, repr=False)
    _committing: bool = field(default=False, repr=False)
    _has_attempts: bool = field(default=False, repr=False)

    @classmethod
    def begin(cls, out: Place, header: str, *, force: bool) -> "Output":
        """Refuse what may not be replaced; clear what killed runs left behind."""
        target = out.local
        if target is None:
            return cls._begin_in_place(out, header, force)
        target = target.resolve()  # what a link points to is replaced, not the link
        clear_abandoned(target)
        _refuse_existing(out, header, force)
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            run, lock = locked_run(target)
        except OSError as cause:
            raise InputError(
                f"{out} cannot be made: {cause.strerror}: {cause.filename}",
                hint="Choose another --out.",
            ) from cause
        root = Path(lock.name).with_suffix("")
        root.mkdir()
        return cls(Place(str(target)), header, Place(str(root)), run, force, lock)

    @classmethod
    def _begin_in_place(cls, out: Place, header: str, force: bool) -> "Output":
        _refuse_existing(out, header, force)
        output = cls(out, header, out, uuid.uuid4().hex[:12], force)
        output._mark.write(b"")
        return output

    def part(self, number: int) -> str:
        """The file name of a table's part."""
        return self.file(f"part-{number:05d}")

    def file(self, stem: str) -> str:
        """The name of a Parquet file, `stem.parquet` where that can be a new one."""
        return f"{stem}-{self.run}.parquet" if self._in_place else f"{stem}.parquet"

    def attempts(self, *tables: str) -> Place:
        """Where tasks write: a directory beside, with one in it for each table.

        It goes with the commit or the abort. On a local disk a late task then finds no
        directory; on an object store its file is left there, and read by nobody.
        """
        self._has_attempts = True
        self._attempts.make()
        for name in tables:
            (self._attempts / name).make()
        return self._attempts

    def keep(self, attempt: str, name: str) -> None:
        """Give a file below `attempts`, of a task that Spark reports done, its name
        below `root`."""
        filesystem, source = (self._attempts / attempt).open()
        filesystem.move(source, (self.root / name).open()[1])

    def commit(self, header: Mapping[str, Any]) -> None:
        """Make it appear at `out`, in place of what was there."""
        _refuse_existing(self.out, self.header, self.force)
        text = json.dumps(
            header, indent=2, ensure_ascii=False, allow_nan=False, default=_plain
        )
        # A file name that is not Unicode turns into what is a JSON escape, too.
        content = (text + "\n").encode(errors="backslashreplace")
        target, source = self.out.local, self.root.local
        if target is None or source is None:
            self._commit_in_place(header, content)
            return
        (self.root / self.header).write(content)
        replace_directory(source, target)
        self._end()

    def _commit_in_place(self, header: Mapping[str, Any], content: bytes) -> None:
        old = self._named_before()
        # From here on readers may have the new header: its files must stay.
        self._committing = True
        (self.root / self.header).write(content)
        for name in sorted(old - named_files(header)):
            with suppress(OSError):
                (self.out / name).delete()
        with suppress(OSError):
            self._mark.delete()
        self._end()

    def _named_before(self) -> set[str]:
        header = self.out / self.header
        # One that cannot be understood names nothing that could be removed.
        with suppress(FileNotFoundError, ValueError, LookupError, TypeError):
            return {n for n in named_files(json.loads(header.read())) if inside(n)}
        return set()

    def abort(self) -> None:
        """Remove what was written; what was at `out` before stays."""
        if self._in_place and not self._committing:
            for name in self.root.files():
                if self.run in name:
                    (self.root / name).delete()
        self._end()

    def _end(self) -> None:
        """Remove all that the run has beside `out`."""
        if self._lock is not None:
            remove_run(self._lock)
            self._lock.close()
            self._lock = None
        elif self._in_place and self._has_attempts:
            with suppress(OSError):
                self._attempts.delete()

    @property
    def _mark(self) -> Place:
        """Says that what is in the directory is ours, though it has no header yet."""
        return self.out / f".run-{self.run}"

    @property
    def _in_place(self) -> bool:
        return self.root == self.out

    @property
    def _attempts(self) -> Place:
        return self.out.beside(before=".", after=f".{self.run}{ATTEMPTS}")


def _refuse_existing(out: Place, header: str, force: bool) -> None:
    """Refuse to replace what is there, unless told to and it is one of ours."""
    if (out / header).exists():
        if not force:
            raise InputError(
                f"{out} exists already; nothing was written",
                hint="Replace it with --force, or choose another --out.",
            )
    elif not _free(out):
        raise InputError(
            f"{out} exists and is not a {header.removesuffix('.json')} directory; "
            "nothing was written",
            hint="Choose another --out.",
        )


def _free(out: Place) -> bool:
    """Whether nothing is there, or an empty directory, or (on an object store) one
    that a run which was killed has begun."""
    filesystem, path = out.open()
    kind = filesystem.get_file_info(path).type
    if kind != fs.FileType.Directory:
        return bool(kind == fs.FileType.NotFound)
    entries = filesystem.get_file_info(fs.FileSelector(path))
    begun = any(_MARK.fullmatch(entry.base_name) for entry in entries)
    return not entries or (out.local is None and begun)


def _plain(value: Any) -> Any:
    """A number of numpy's as one that JSON knows."""
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{type(value).__name__} {value!r} cannot be written as JSON")


@contextmanager
def new_output(out: Place, header: str, *, force: bool = False) -> Iterator[Output]:
    """An output for the time of the block, which commits it; aborted if it fails."""
    output = Output.begin(out, header, force=force)
    try:
        yield output
    except BaseException:
        output.abort()
        raise


@dataclass(frozen=True)
class Scratch:
    """A directory beside an output. Tasks of any machine may write to it."""

    root: Place
    run: str

    def write(self, name: str, array: npt.NDArray[Any]) -> None:
        content = io.BytesIO()
        np.save(content, array, allow_pickle=False)
        (self.root / name).write(content.getvalue())

    def read(self, name: str) -> npt.NDArray[Any]:
        """The array, mapped rather than read where the disk is this machine's."""
        place = self.root / name
        array: npt.NDArray[Any]
        if place.local is not None:
            array = np.load(place.local, mmap_mode="r")
        else:
            array = np.load(io.BytesIO(place.read()), allow_pickle=False)
        return array

    @contextmanager
    def writer(self, name: str) -> Iterator[pa.NativeFile]:
        """A stream of bytes to a new file."""
        filesystem, path = (self.root / name).open()
        with filesystem.open_output_stream(path) as stream:
            yield stream

    @contextmanager
    def reader(self, name: str) -> Iterator[pa.NativeFile]:
        filesystem, path = (self.root / name).open()
        with filesystem.open_input_stream(path) as stream:
            yield stream

    def delete(self, name: str) -> None:
        (self.root / name).delete()


@contextmanager
def scratch_beside(out: Place) -> Iterator[Scratch]:
    """A scratch directory for the time of the block, whatever ends it."""
    beside = out.beside(after=".scratch")
    output = Output.begin(beside, "scratch.json", force=True)
    try:
        yield Scratch(output.attempts(), output.run)
    finally:
        output.abort()


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
