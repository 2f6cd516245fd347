"""The JSON file that says what a directory holds: read it, or say what is wrong."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.storage.place import Place

Header = TypeVar("Header")


class DigestedHeader:
    """A header that carries the digest of its content; computed if none is given.

    For frozen dataclasses with a field `digest`.
    """

    digest: str

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

    def content_digest(self) -> str:
        """The digest of everything that is relied on later."""
        raise NotImplementedError

    def verify(self, file: Place) -> None:
        """Refuse a header, read from `file`, that was changed."""
        found = self.content_digest()
        if found != self.digest:
            raise DigestMismatchError(str(file), found, self.digest)


def parse_header(
    place: Place,
    name: str,
    kind: type[Header],
    *,
    format: int,
    keys: Mapping[str, Sequence[str]],
    hint: str = "",
) -> Header:
    """The file `name` of a directory as `kind`, a dataclass.

    `keys` says which keys some of its fields, themselves mappings, must have.
    """
    file = place / name
    content = header_content(place, name, format=format, hint=hint)
    try:
        header = msgspec.convert(content, kind)
        for field, needed in keys.items():
            for key in needed:
                getattr(header, field)[key]
    except msgspec.ValidationError as cause:
        raise InputError(f"{file}: {cause}") from cause
    except KeyError as cause:
        raise InputError(f"{file} has no {cause}") from cause
    for path in sorted(named_files(content)):
        if not inside(path):
            raise InputError(f"{file} names a file outside its directory: {path!r}")
    return header


def header_content(
    place: Place, name: str, *, format: int, hint: str = ""
) -> dict[str, Any]:
    """The JSON object in the file `name` of a directory, with nothing but its format
    checked."""
    file = place / name
    if not file.exists():
        what = name.removesuffix(".json")
        raise InputError(
            f"{place} is not a {what} directory: it has no {name}", hint=hint
        )
    try:
        content = json.loads(file.read())
    except ValueError as cause:
        raise InputError(f"{file} is not JSON: {cause}") from cause
    found = content.get("format") if isinstance(content, dict) else None
    if found != format:
        raise InputError(f"{file}: found format {found}, expected {format}")
    return dict(content)


def named_files(header: Mapping[str, Any]) -> set[str]:
    """The files, relative to the directory, that a header names."""
    stated = dict(header)
    files = dict(stated.get("files", {}))
    parts = {f"{table}/{name}" for table in files for name in files[table]}
    return parts.union(dict(stated.get("tables", {})).values())


def inside(path: str) -> bool:
    """Whether a relative path stays in the directory that it starts from."""
    return not path.startswith("/") and ".." not in path.split("/")
