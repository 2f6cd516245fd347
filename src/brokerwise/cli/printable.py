"""Texts that are safe to show: names of users may hold anything."""


def printable(text: str) -> str:
    """The text without what would move a terminal's cursor or change its colours."""
    return "".join(
        c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode()
        for c in text
    )
