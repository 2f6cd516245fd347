"""The frame of every report: one HTML file that needs nothing else.

The question, the answer in a sentence, the numbers, the plots, and the inputs with
how to repeat it. The page's content security policy forbids every request."""

import os
import uuid
import zlib
from codecs import BOM_UTF8
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np

from brokerwise.model.errors import InputError
from brokerwise.show.numbers import counted
from brokerwise.show.plots import Plot, table_of
from brokerwise.show.results import Result
from brokerwise.show.tables import (
    Fact,
    Table,
    facts_html,
    inputs_html,
    json_script,
    table_html,
)

_MARK = b'<p class="product">Brokerwise</p>'
_START = 1 << 16  # bytes that a report has its mark in


@dataclass(frozen=True)
class Page:
    """What a report says. `data` is the result it was made from, kept in the page."""

    title: str
    question: str
    answer: str
    facts: Sequence[Fact]
    tables: Sequence[Table]
    plots: Sequence[Plot]
    inputs: Sequence[Fact]
    data: Result


def render_page(page: Page) -> str:
    """The page as HTML: the same text for the same page."""
    drawn = [plot for plot in page.plots if plot.drawable]
    library = _library() if drawn else Packed("", 0)
    return Template(_resource("page.html")).substitute(
        style=_resource("style.css"),
        title=escape(page.title),
        question=escape(page.question),
        answer=escape(page.answer),
        facts=facts_html(page.facts),
        tables="".join(map(table_html, page.tables)),
        plots="".join(_figure(i, plot) for i, plot in enumerate(drawn))
        or "<p>There is nothing to plot.</p>",
        inputs=inputs_html(page.inputs),
        result=json_script("result", page.data),
        specs=json_script("plots", [plot.spec() for plot in drawn]),
        plotly=library.text,
        bytes=library.size,
    )


@dataclass(frozen=True)
class Packed:
    """A text that was deflated to `size` bytes, in characters that a page can hold."""

    text: str
    size: int


def packed(script: str) -> Packed:
    """Deflate a script (RFC 1950), and write each four bytes as five digits to the base
    of 85, zero bytes added at the end: by a sixteenth shorter than base64.

    The digit d is the character 42 + d; `(` stands for `<`, so nothing is markup. The
    same for the same script and build of zlib.
    """
    deflate = zlib.compressobj(level=9, memLevel=9)
    content = deflate.compress(script.encode()) + deflate.flush()
    whole = content.ljust(-(-len(content) // 4) * 4, b"\0")
    words = np.frombuffer(whole, ">u4").astype(np.int64)
    digits = words[:, None] // 85 ** np.arange(4, -1, -1) % 85
    text = (digits + 42).astype(np.uint8).tobytes().decode()
    return Packed(text.replace("<", "("), len(content))


@cache
def _library() -> Packed:
    """The drawing library as it is installed."""
    from plotly.offline import get_plotlyjs

    return packed(get_plotlyjs())


def write_page(path: Path, html: str) -> None:
    """Write a report; it appears when it is complete, in place of an older one."""
    refuse_unwritable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{uuid.uuid4().hex[:12]}")
    try:
        # A file name may hold bytes that are no text.
        draft.write_text(html, encoding="utf-8", errors="backslashreplace")
        os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def refuse_unwritable(path: Path, option: str = "--report") -> None:
    """Say so if a report cannot be written there: before the work, not after it."""
    try:
        problem = _problem(path)
    except OSError as cause:  # a name that is too long, for example
        problem = str(cause.strerror)
    if problem:
        raise InputError(f"{option} {path}: {problem}", hint="Name another file.")


def _problem(path: Path) -> str:
    """Why a report cannot be written there; empty if it can."""
    folder = next(p for p in path.absolute().parents if p.exists())
    if path.is_dir():
        return "it is a directory"
    if path.exists() and not (path.is_file() and _is_ours(path)):
        return "a file that is no report is there already"
    if not folder.is_dir():
        return f"{folder} is not a directory"
    if not os.access(folder, os.W_OK):
        return f"{folder} may not be written to"
    return ""


def is_page(content: bytes) -> bool:
    """Whether a file that begins like this is a page."""
    start = content[:64].removeprefix(BOM_UTF8)
    return start.lstrip().lower().startswith(b"<!doctype html")


def _is_ours(path: Path) -> bool:
    with path.open("rb") as file:
        start = file.read(_START)
    return is_page(start) and _MARK in start


def _figure(number: int, plot: Plot) -> str:
    missing = (
        f" {counted(plot.hidden, 'point')} at zero cannot be shown on a logarithmic "
        "axis; the table has every point."
        if plot.hidden
        else ""
    )
    title = f"plot-{number}-title"
    tables = plot.tables or [table_of(plot)]
    wide = ' class="wide"' if plot.wide else ""
    return (
        f'<figure{wide} aria-labelledby="{title}">'
        f'<h3 id="{title}">{escape(plot.title)}</h3>'
        f'<div class="plot" id="plot-{number}" role="img" '
        f'aria-label="{escape(plot.title)}, as a plot"></div>'
        f"<figcaption>{escape(plot.caption + missing)}</figcaption>"
        f"<details><summary>The numbers behind this plot</summary>"
        f"{''.join(map(table_html, tables))}</details></figure>"
    )


def _resource(name: str) -> str:
    return files("brokerwise.show").joinpath(name).read_text(encoding="utf-8")
