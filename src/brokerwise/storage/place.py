"""A directory or a file, on a local disk or an object store."""

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

import pyarrow as pa
from pyarrow import fs

from brokerwise.model.errors import InputError

_IN_URIS = "%/:?#[]@!$&'()*+,;="
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(/+)")
_STORES = ("s3", "gs", "gcs", "abfs", "abfss", "hdfs", "viewfs")  # those of pyarrow
_ALSO_S3 = ("s3a", "s3n")  # as Hadoop and Spark call it
_S3_CREDENTIALS = re.compile(r"(?<=s3://)[^/@]*@")
# A name before the @ is a container, or a user: only what is behind a colon is secret.
_SECRETS = re.compile(r"(?<=://)([^/@:]*):[^/@]*(?=@)|(?<=[?&]client_secret=)[^&]*")


@dataclass(frozen=True, repr=False)
class Place:
    """A path, or a URI such as s3://bucket/dir, that pyarrow can open.

    `file:` URIs become paths, and s3a: and s3n: become s3:. Raises InputError for any
    other scheme that pyarrow does not know: it is never taken for a folder's name.
    What a URI has after a `?` are options of its store (`endpoint_override`,
    `scheme`, `region`, ...) and stay at its end.
    """

    uri: str

    def __post_init__(self) -> None:
        if found := _SCHEME.match(self.uri):
            object.__setattr__(self, "uri", _understood(self.uri, found))

    def open(self) -> tuple[fs.FileSystem, str]:
        if not self._remote:
            return fs.LocalFileSystem(), os.path.abspath(self.uri)
        try:
            # Spaces and letters beyond ASCII are allowed here, in a URI they are not.
            filesystem, path = fs.FileSystem.from_uri(quote(self.uri, safe=_IN_URIS))
        except pa.ArrowInvalid as cause:
            raise InputError(f"{self}: {_without_secrets(str(cause))}") from cause
        except OSError as cause:
            # Other stores may answer the next time; a library does not appear.
            if not self.uri.startswith(("hdfs:", "viewfs:")):
                raise
            reason = str(cause).splitlines()[0]
            raise InputError(
                f"{self} cannot be opened: {reason}",
                hint="pyarrow needs Hadoop's libhdfs and a JVM here (HADOOP_HOME, "
                "JAVA_HOME, CLASSPATH). Or copy the files to a disk or to S3.",
            ) from cause
        return filesystem, path

    @property
    def local(self) -> Path | None:
        """The path on this machine's disk, or None on an object store."""
        return None if self._remote else Path(os.path.abspath(self.uri))

    def absolute(self) -> "Place":
        """The same place for a process in another working directory."""
        return self if self.local is None else Place(str(self.local))

    def without_credentials(self) -> "Place":
        """The same place, fit to be written down: without `key:secret@`."""
        return Place(_without_secrets(self.uri)) if self._remote else self

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
        return _SCHEME.match(self.uri) is not None

    @property
    def _parts(self) -> tuple[str, str, str]:
        """What is before the options, the `?`, and the options."""
        return self.uri.partition("?") if self._remote else (self.uri, "", "")


def _understood(uri: str, found: re.Match[str]) -> str:
    """A URI as a path, or as one that pyarrow knows."""
    scheme, slashes = found[1].lower(), found[2]
    rest = uri[found.end() :]
    if scheme == "file":
        host, _, path = rest.partition("/") if slashes == "//" else ("", "", rest)
        if host not in ("", "localhost"):
            raise InputError(
                f"{uri}: found the host {host}, expected a file of this machine",
                hint=f"Three slashes begin a path: file:///{path}",
            )
        return "/" + unquote(path)
    store = "s3" if scheme in _ALSO_S3 else scheme
    if store not in _STORES:
        raise _unknown_scheme(uri, found[1], rest)
    # pathlib makes one slash of two
    return f"{store}:{'//' if slashes == '/' else slashes}{rest}"


def _unknown_scheme(uri: str, scheme: str, rest: str) -> InputError:
    known = f"file, {', '.join(_ALSO_S3)}, {', '.join(_STORES)}"
    if scheme.lower() == "dbfs":
        hint = f"Databricks has it as a path, too: /dbfs/{rest}"
    else:
        hint = f"Copy it to a disk or to s3://. If it is a folder: ./{scheme}:/..."
    return InputError(
        f"{_without_secrets(uri)}: found the scheme {scheme}, expected a path or one "
        f"of {known}",
        hint=hint,
    )


def _without_secrets(text: str) -> str:
    return _SECRETS.sub(r"\1", _S3_CREDENTIALS.sub("", text))
