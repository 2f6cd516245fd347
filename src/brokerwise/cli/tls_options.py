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
        help="PEM file: what the certificate is checked against.", callback=on_this_disk
    ),
]


def tls_of(
    certificate: Path | None, private_key: Path | None, authority: Path | None
) -> "Tls":
    """Files that can be used. Raises InputError if they cannot."""
    from brokerwise.runtime.fleet.settings import Tls
    from brokerwise.runtime.tls import server_tls

    if (certificate is None) != (private_key is None):
        raise InputError("--certificate and --private-key belong together")
    if authority is not None and certificate is None:
        raise InputError("--authority checks a --certificate: there is none")
    tls = Tls(*map(_pem, (certificate, private_key, authority)))
    server_tls(tls.certificate, tls.private_key)  # whether they can be used
    return tls


def _pem(path: Path | None) -> str:
    """Absolute, for processes and commands that run elsewhere."""
    if path is None:
        return ""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    return str(path.resolve())
