"""`brokerwise report`."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from brokerwise.cli.console import print_result
from brokerwise.cli.options import on_this_disk
from brokerwise.cli.printable import printable
from brokerwise.model.errors import InputError

if TYPE_CHECKING:
    from brokerwise.storage.place import Place

_PAGE = "report.html"
_REPRODUCED = "results.json"


def report(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE|DIR",
            help="What --json printed, a report, or the directory of a plan or of "
            "`reproduce`.",
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            help="File to write. Default: beside it, or in the directory.",
            callback=on_this_disk,
        ),
    ] = None,
) -> None:
    """Write the report of a result again, from its JSON alone.

    Nothing is computed anew: it is the page that was written with the result, byte
    for byte if this is the same version. A report holds its own JSON.

    \b
    Examples:
      brokerwise fill out/workload --brokers 10x500 --json > fill.json
      brokerwise report fill.json
      brokerwise report out/plan --out plan.html
    """
    from brokerwise.reproduce.pages import PAGES
    from brokerwise.show.page import refuse_unwritable, write_page
    from brokerwise.show.reports import REPORTS, report_of, result_in

    kept = _kept(file)
    result = result_in(kept.content, str(kept.place))
    if kept.directory is not None:
        _refuse_other_plan(kept.directory, result)
    target = out or _beside(kept)
    refuse_unwritable(target, "--out")
    answer, html = report_of(result, str(kept.place), {**REPORTS, **PAGES})
    write_page(target, html)
    print_result(printable(f"{answer}\nReport: {target}"))


@dataclass(frozen=True)
class _Kept:
    """A file with a result; `directory` is that of a plan or of `reproduce`."""

    place: "Place"
    content: bytes
    directory: "Place | None" = None


def _kept(file: str) -> _Kept:
    from brokerwise.storage.output import RESULT
    from brokerwise.storage.place import Place

    place = Place(file)
    for name in (RESULT, _REPRODUCED):
        inner = place / name
        if inner.exists():
            return _Kept(inner, _content(inner), place)
    if not place.exists():
        raise InputError(f"{file}: no such file or directory")
    if place.local is not None and place.local.is_dir():
        raise InputError(
            f"{file} has neither {RESULT} nor {_REPRODUCED}",
            hint="Plans that this program has written have one; those of the Python "
            "API have not.",
        )
    return _Kept(place, _content(place))


def _content(place: "Place") -> bytes:
    """Also of a pipe. Raises InputError if it cannot be read."""
    try:
        return place.read() if place.local is None else place.local.read_bytes()
    except OSError as cause:
        raise InputError(f"{place}: {cause.strerror}") from cause


def _refuse_other_plan(directory: "Place", result: dict[str, Any]) -> None:
    """On an object store the result of an earlier plan may be left."""
    from brokerwise.storage.header import header_content
    from brokerwise.storage.plan import FORMAT, HEADER

    if not (directory / HEADER).exists():
        return
    header = header_content(directory, HEADER, format=FORMAT)
    if header.get("digest") != result.get("digest"):
        raise InputError(
            f"{directory}: the result in it is of another plan, by its digest"
        )


def _beside(kept: _Kept) -> Path:
    """In the directory, beside a JSON file, or in place of a page."""
    from brokerwise.show.page import is_page

    if kept.place.local is None:
        raise InputError(
            f"--out: missing, and {kept.place} is not on this machine's disk"
        )
    if kept.directory is not None:
        return Path(kept.directory.uri) / _PAGE
    path = Path(kept.place.uri)
    return path if is_page(kept.content) else path.with_suffix(".html")
