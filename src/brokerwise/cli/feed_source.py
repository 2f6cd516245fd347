"""Where records come from: a file or standard input, plain or gzip."""

import asyncio
import os
import stat
import sys
import uuid
import zlib
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256
from pathlib import Path

from brokerwise.cli.options import local_path
from brokerwise.cli.standard_input import read_ready
from brokerwise.model.errors import InputError

STDIN = "-"
PART_BYTES = 256 << 10
WAIT_SECONDS = 0.5  # what has come from a pipe is sent after so long
_GZIP = b"\x1f\x8b"


class FeedSource:
    """A stream of records. `identity` is that of a file's content, as far as its
    inode, size and time tell, and another one each time for standard input; `size`
    is that of the file, 0 if it is not known; `done` how much has been read."""

    def __init__(self, name: str) -> None:
        self.name = "standard input" if name == STDIN else name
        self._path = None if name == STDIN else local_path(Path(name))
        self.size, self.done = 0, 0
        self._is_pipe = True
        self.identity = uuid.uuid4().hex
        if self._path is not None:
            self._look_at(self._path)

    async def parts(self) -> AsyncIterator[bytes | None]:
        """The content, unpacked; None where what follows may take a while. Raises
        InputError for what cannot be read."""
        unpacking = _Unpacking(self.name)
        async for part in self._packed():
            if part is None:
                yield None
                continue
            self.done += len(part)
            for content in unpacking.add(part):
                yield content
        for content in unpacking.end():
            yield content

    def _look_at(self, path: Path) -> None:
        try:
            found = path.stat()
        except OSError as cause:
            raise InputError(f"cannot read {path}: {cause.strerror}") from cause
        if stat.S_ISDIR(found.st_mode) or not os.access(path, os.R_OK):
            raise InputError(f"cannot read {path}: no file that we may read")
        self._is_pipe = not stat.S_ISREG(found.st_mode)
        if stat.S_ISREG(found.st_mode):
            self.size = found.st_size
            marks = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            self.identity = sha256(repr(marks).encode()).hexdigest()[:32]

    async def _packed(self) -> AsyncIterator[bytes | None]:
        if self._path is None:
            async for part in _parts_of_pipe(sys.stdin.fileno()):
                yield part
            return
        with self._path.open("rb", buffering=0) as file:
            if self._is_pipe:
                async for part in _parts_of_pipe(file.fileno()):
                    yield part
            while part := file.read(PART_BYTES):
                yield part


async def _parts_of_pipe(number: int) -> AsyncIterator[bytes | None]:
    loop = asyncio.get_running_loop()
    due: float | None = None
    while True:
        seconds = None if due is None else max(0.0, due - loop.time())
        try:
            part = await asyncio.wait_for(read_ready(number, PART_BYTES), seconds)
        except TimeoutError:
            due = None
            yield None
            continue
        if not part:
            return
        yield part
        due = due or loop.time() + WAIT_SECONDS


class _Unpacking:
    """Plain content as it is; gzip, of one member or several, unpacked."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._head = b""
        self._gzip: zlib._Decompress | None = None
        self._is_plain = False

    def add(self, part: bytes) -> Iterator[bytes]:
        if self._is_plain:
            yield part
            return
        if self._gzip is None:
            part = self._head = self._head + part
            if len(part) < len(_GZIP):
                return
            self._is_plain = not part.startswith(_GZIP)
        yield from [part] if self._is_plain else self._unpacked(part)

    def end(self) -> Iterator[bytes]:
        if self._gzip is None and not self._is_plain:
            yield self._head
        if self._gzip is not None and not self._gzip.eof:
            raise InputError(
                f"{self._name} ends in the middle of its gzip content",
                hint="What came before is fed. Get the file whole, and feed it again.",
            )

    def _unpacked(self, part: bytes) -> Iterator[bytes]:
        while part:
            if self._gzip is None or self._gzip.eof:
                self._gzip = zlib.decompressobj(wbits=31)
            try:
                yield self._gzip.decompress(part)
            except zlib.error as cause:
                raise InputError(f"{self._name} is broken gzip: {cause}") from cause
            part = self._gzip.unused_data.lstrip(b"\0")  # padding of some tools
