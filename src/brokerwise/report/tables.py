"""Tables as plain text and as Markdown."""

from collections.abc import Iterator, Sequence

from brokerwise.report.html import Table


def aligned(table: Table) -> Iterator[str]:
    """Its caption, then its rows: the first column left, numbers right."""
    rows = [table.columns, *table.rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield table.caption
    for row in rows:
        cells = [row[0].ljust(widths[0])]
        cells += [c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)]
        yield f"  {'   '.join(cells)}".rstrip()


def markdown(table: Table) -> Iterator[str]:
    """Its caption as a line, then the table."""
    yield from (f"{table.caption}:", "")
    yield _row(table.columns)
    yield _row(["---", *("---:" for _ in table.columns[1:])])
    yield from map(_row, table.rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', '&#124;') for cell in cells)} |"
