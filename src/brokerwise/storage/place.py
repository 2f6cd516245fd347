"""A directory or a file, on a local disk or an object store."""

import os
from dataclasses import dataclass
from pathlib import Path

from pyarrow import fs


@dataclass(frozen=True)
class Place:
    """A path, or a URI such as s3://bucket/dir, that pyarrow can open."""

    uri: str

    def open(self) -> tuple[fs.FileSystem, str]:
        if "://" not in self.uri:
            return fs.LocalFileSystem(), os.path.abspath(self.uri)
        filesystem, path = fs.FileSystem.from_uri(self.uri)
        return filesystem, path

    @property
    def local(self) -> Path | None:
        """The path on this machine's disk, or None on an object store."""
        filesystem, path = self.open()
        return Path(path) if isinstance(filesystem, fs.LocalFileSystem) else None

    def absolute(self) -> "Place":
        """The same place for a process in another working directory."""
        return self if self.local is None else Place(str(self.local))

    def __truediv__(self, name: str) -> "Place":
        return Place(f"{self.uri.rstrip('/')}/{name}")

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

    def rename(self, name: str) -> None:
        """Give a file another name in its directory."""
        filesystem, path = self.open()
        filesystem.move(path, f"{path.rsplit('/', 1)[0]}/{name}")
