"""Tables and facts: as parts of a page, as plain text and as Markdown.

All text of a page is escaped here: names come from users."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any


@dataclass(frozen=True)
class Fact:
    """A number, or a short text, and what it is."""

    label: str
    value: str
    note: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text; the first column names the row, the others are numbers."""

    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def facts_html(facts: Iterable[Fact]) -> str:
    return f'<dl class="facts">{"".join(map(_fact, facts))}</dl>'


def inputs_html(facts: Iterable[Fact]) -> str:
    """Facts that are long texts: paths, digests, commands."""
    items = "".join(
        f"<div><dt>{escape(f.label)}</dt><dd><code>{escape(f.value)}</code>"
        f"{_note(f)}</dd></div>"
        for f in facts
    )
    return f'<dl class="inputs">{items}</dl>'


def table_html(table: Table) -> str:
    """A table that scrolls in its own box, also from the keyboard."""
    head = "".join(map(_head, table.columns))
    body = "".join(map(_html_row, table.rows))
    caption = escape(table.caption)
    return (
        f'<div class="scroll" tabindex="0" role="group" aria-label="{caption}">'
        f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table></div>"
    )


def json_script(identity: str, content: Mapping[str, Any] | Sequence[Any]) -> str:
    """Data for scripts and later readers; nothing in it can end the element."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return f'<script type="application/json" id="{escape(identity)}">{text}</script>'


def _fact(fact: Fact) -> str:
    return (
        f"<div><dt>{escape(fact.label)}</dt>"
        f"<dd>{escape(fact.value)}{_note(fact)}</dd></div>"
    )


def _note(fact: Fact) -> str:
    return f"<small>{escape(fact.note)}</small>" if fact.note else ""


def _head(title: str) -> str:
    return f'<th scope="col">{escape(title)}</th>' if title else "<td></td>"


def _html_row(cells: Sequence[str]) -> str:
    first, *rest = map(escape, cells)
    return (
        f'<tr><th scope="row">{first}</th>'
        f"{''.join(f'<td>{cell}</td>' for cell in rest)}</tr>"
    )


def aligned(table: Table) -> Iterator[str]:
    """Its caption, then its rows: the first column left, numbers right."""
    yield table.caption
    yield from in_columns([table.columns, *table.rows])


def in_columns(rows: Sequence[Sequence[str]], between: str = "   ") -> Iterator[str]:
    """Rows as indented lines: the first column left, numbers right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        yield f"  {between.join(cells)}".rstrip()


def markdown(table: Table) -> Iterator[str]:
    """Its caption as a line, then the table."""
    yield from (f"{table.caption}:", "")
    yield _markdown_row(table.columns)
    yield _markdown_row(["---", *("---:" for _ in table.columns[1:])])
    yield from map(_markdown_row, table.rows)


def _markdown_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
