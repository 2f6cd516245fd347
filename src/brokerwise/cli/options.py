"""Options that several commands share."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

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
Report = Annotated[
    Path | None, typer.Option(help="Also write a one-file HTML report here.")
]


def parse_conf(settings: Sequence[str] | None) -> dict[str, str]:
    """`KEY=VALUE` settings as a dictionary."""
    parsed = {}
    for setting in settings or ():
        key, equals, value = setting.partition("=")
        if not key or not equals:
            raise InputError(f"--conf: found {setting!r}, expected KEY=VALUE")
        parsed[key] = value
    return parsed
