"""Tables in plain text."""

from collections.abc import Sequence


def table(rows: Sequence[Sequence[str]], names: int = 2) -> list[str]:
    """Lines, indented: the first columns, which are names, to the left, the others,
    which are numbers, to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if number < names else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  " + "  ".join(cells).rstrip())
    return lines


def many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def size(count: int) -> str:
    """`812 B`, `1.2 MB`: of 1,000 bytes each, as everywhere."""
    units = ("B", "kB", "MB", "GB", "TB")
    power = min(max(0, len(str(count)) - 1) // 3, len(units) - 1)
    return f"{count / 1000**power:,.{1 if power else 0}f} {units[power]}"
