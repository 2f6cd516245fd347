"""Pieces of sentences about where things are."""

from collections.abc import Sequence

_NAMED = 3


def quoted(name: str) -> str:
    return f'"{name}"'


def listed(names: Sequence[str], most: int = _NAMED) -> str:
    """`b1`, `b1 and b4`, `b1, b2, b4 and 7 more`."""
    if len(names) > most + 1:
        return f"{', '.join(names[:most])} and {len(names) - most:,} more"
    *first, last = names
    return f"{', '.join(first)} and {last}" if first else last
