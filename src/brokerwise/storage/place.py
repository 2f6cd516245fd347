"""A directory or a file, on a local disk or an object store."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import pyarrow as pa
from pyarrow import fs

from brokerwise.model.errors import InputError

_IN_URIS = "%/:?#[]@!$&'()*+,;="
_CREDENTIALS = re.compile(r"(?<=://)[^/@]*@")


@dataclass(frozen=True, repr=False)
class Place:
    """A path, or a URI such as s3://bucket/dir, that pyarrow can open.

    What a URI has after a `?` are options of its store (`endpoint_override`,
    `scheme`, `region`, ...) and stay at its end.
    """

    uri: str

    def open(self) -> tuple[fs.FileSystem, str]:
        if not self._remote:
            return fs.LocalFileSystem(), os.path.abspath(self.uri)
        try:
            # Spaces and letters beyond ASCII are allowed here, in a URI they are not.
            filesystem, path = fs.FileSystem.from_uri(quote(self.uri, safe=_IN_URIS))
        except pa.ArrowInvalid as cause:
            raise InputError(f"{self}: {_CREDENTIALS.sub('', str(cause))}") from cause
        return filesystem, path

    @property
    def local(self) -> Path | None:
        """The path on this machine's disk, or None on an object store."""
        if not self._remote:
            return Path(os.path.abspath(self.uri))
        filesystem, path = self.open()
        return Path(path) if isinstance(filesystem, fs.LocalFileSystem) else None

    def absolute(self) -> "Place":
        """The same place for a process in another working directory."""
        return self if self.local is None else Place(str(self.local))

    def without_credentials(self) -> "Place":
        """The same place, fit to be written down: without `key:secret@`."""
        return Place(_CREDENTIALS.sub("", self.uri)) if self._remote else self

    def __truediv__(self, name: str) -> "Place":
        base, mark, options = self._parts
        name = quote(name) if self._remote else name
        return Place(f"{base.rstrip('/')}/{name}{mark}{options}")

    def beside(self, *, before: str = "", after: str = "") -> "Place":
        """Another in the same directory: its name is this one's with more around it.

        What is a whole bucket has nothing beside it; that is inside then.
        """
        base, mark, options = self._parts
        folder, slash, name = base.rstrip("/").rpartition("/")
        if folder.endswith(":/"):
            folder, slash, name = base.rstrip("/"), "/", ""
        return Place(f"{folder}{slash}{before}{name}{after}{mark}{options}")

    def exists(self) -> bool:
        filesystem, path = self.open()
        return bool(filesystem.get_file_info(path).type != fs.FileType.NotFound)

    def read(self) -> bytes:
        filesystem, path = self.open()
        with filesystem.open_input_stream(path) as stream:
            return bytes(stream.read())

    def write(self, content: bytes) -> None:
        filesystem, path = self.open()
        with filesystem.open_output_stream(path) as stream:
            stream.write(content)

    def make(self) -> None:
        filesystem, path = self.open()
        filesystem.create_dir(path, recursive=True)

    def delete(self) -> None:
        """Remove a file or a whole directory, if it is there."""
        filesystem, path = self.open()
        kind = filesystem.get_file_info(path).type
        if kind == fs.FileType.Directory:
            filesystem.delete_dir(path)
        elif kind == fs.FileType.File:
            filesystem.delete_file(path)

    def files(self) -> list[str]:
        """The files in a directory and below it, relative to it, in order."""
        filesystem, path = self.open()
        selector = fs.FileSelector(path, allow_not_found=True, recursive=True)
        return sorted(
            info.path[len(path) :].lstrip("/")
            for info in filesystem.get_file_info(selector)
            if info.type == fs.FileType.File
        )

    def __str__(self) -> str:
        return self.without_credentials().uri

    def __repr__(self) -> str:
        return f"Place({str(self)!r})"

    @property
    def _remote(self) -> bool:
        return "://" in self.uri

    @property
    def _parts(self) -> tuple[str, str, str]:
        """What is before the options, the `?`, and the options."""
        return self.uri.partition("?") if self._remote else (self.uri, "", "")
