"""Options of commands that start processes which may speak TLS."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from brokerwise.cli.options import on_this_disk
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.runtime.fleet.settings import Tls

Certificate = Annotated[
    Path | None,
    typer.Option(help="PEM file: speak TLS with it.", callback=on_this_disk),
]
PrivateKey = Annotated[
    Path | None,
    typer.Option(help="PEM file: the key of the certificate.", callback=on_this_disk),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        help="PEM file: what the certificate is checked against (what the machine "
        "trusts); the certificate itself if it is self-signed.",
        callback=on_this_disk,
    ),
]


def tls_of(
    certificate: Path | None, private_key: Path | None, authority: Path | None
) -> "Tls":
    """Files that there are. Raises InputError if one is missing."""
    from brokerwise.runtime.fleet.settings import Tls

    if (certificate is None) != (private_key is None):
        raise InputError("--certificate and --private-key belong together")
    if authority is not None and certificate is None:
        raise InputError("--authority checks a --certificate: there is none")
    return Tls(*map(_pem, (certificate, private_key, authority)))


def _pem(path: Path | None) -> str:
    """Absolute, for processes and commands that run elsewhere."""
    if path is None:
        return ""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return str(path.resolve())
