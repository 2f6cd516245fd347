"""What is refused before a text is parsed. Pure."""

import re

from brokerwise.runtime.data_cluster.sql.refused import RefusedQueryError

# Parsing takes long for many of these within one another.
MAX_OPEN = 80  # brackets
MAX_COMMENTS = 5
MAX_TYPES = 100  # array<array<...>>, wherever they are
_OPENING, _CLOSING = "([{", ")]}"
_COMMENT = re.compile(r"/\*|\*/")
_TYPE = re.compile(r"<(?![<=>])")


def check_text(text: str) -> None:
    """Characters that show other than they read, and what makes a parser slow."""
    if not text.strip():
        raise RefusedQueryError("there is no query")
    _check_characters(text)
    if "${" in text:
        raise RefusedQueryError(
            "${...} is not allowed: parameters are written :name", text, text.find("${")
        )
    _check_nesting(text)


def _check_characters(text: str) -> None:
    for index, char in enumerate(text):
        if not char.isprintable() and char not in "\n\r\t":
            raise RefusedQueryError(
                f"found the character U+{ord(char):04X}, which does not show",
                text,
                index,
            )


def _check_nesting(text: str) -> None:
    opened = 0
    for index, char in enumerate(text):
        opened += (char in _OPENING) - (char in _CLOSING)
        if opened > MAX_OPEN:
            raise RefusedQueryError(
                f"more than {MAX_OPEN} brackets are open here", text, index
            )
    opened = 0
    for found in _COMMENT.finditer(text):
        opened = max(0, opened + (1 if found[0] == "/*" else -1))
        if opened > MAX_COMMENTS:
            raise RefusedQueryError(
                f"more than {MAX_COMMENTS} comments are open here", text, found.start()
            )
    smaller = len(_TYPE.findall(text))
    if smaller > MAX_TYPES:
        raise RefusedQueryError(
            f"found {smaller:,} times <, expected at most {MAX_TYPES}"
        )
