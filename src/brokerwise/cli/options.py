"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from brokerwise.model.errors import InputError

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object and nothing else.")
]
Master = Annotated[
    str | None,
    typer.Option(help="Spark master: local[*] (default), spark://, yarn, k8s://."),
]
Conf = Annotated[
    list[str] | None,
    typer.Option(help="A Spark setting, KEY=VALUE; may be repeated."),
]
Out = Annotated[str, typer.Option(help="Directory to write.")]
Force = Annotated[bool, typer.Option("--force", help="Replace what is there.")]
Seed = Annotated[int, typer.Option(min=0, help="Same seed, same result.")]


def local_path(given: Path) -> Path:
    """A path, or a file: URI as one. Raises InputError for any other URI: it would
    be taken for a folder's name."""
    if ":/" not in str(given):
        return given
    from brokerwise.storage.place import Place

    place = Place(str(given))
    if place.local is None:
        raise InputError(f"{place}: expected a path on a disk of this machine")
    return Path(place.uri)


def on_this_disk(given: Any) -> Any:
    """Paths of an option, as `local_path` has each: a callback for typer."""
    if isinstance(given, list | tuple):
        return [local_path(path) for path in given]
    return given if given is None else local_path(given)


Report = Annotated[
    Path | None,
    typer.Option(help="Also write a one-file HTML report here.", callback=on_this_disk),
]
Results = Annotated[
    Path,
    typer.Option(
        help="Directory of results; made or gone on in.", callback=on_this_disk
    ),
]


def parse_columns(text: str | None, option: str) -> dict[str, str]:
    """`topic=2,subscriber=follower` as a dictionary; none if nothing was given."""
    parsed: dict[str, str] = {}
    for part in () if text is None else text.split(","):
        role, equals, column = (piece.strip() for piece in part.partition("="))
        if not role or not equals or not column:
            raise InputError(
                f"{option}: found {part!r}, expected ROLE=COLUMN, such as topic=2"
            )
        if role in parsed:
            raise InputError(
                f"{option}: found the {role} twice ({parsed[role]} and {column})"
            )
        parsed[role] = column
    return parsed


def parse_conf(settings: Sequence[str] | None) -> dict[str, str]:
    """`KEY=VALUE` settings as a dictionary."""
    parsed = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise InputError(f"--conf: found {setting!r}, expected KEY=VALUE")
        parsed[key] = value
    return parsed
