"""README.md, docs/ and the other pages, taken apart as GitHub reads them."""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    sorted(
        path.relative_to(ROOT).as_posix()
        for pattern in ("*.md", "docs/**/*.md", "examples/**/*.md")
        for path in ROOT.glob(pattern)
    )
)
_READER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A block of code, the line that it begins on, and the text right before it."""

    line: int
    language: str
    lines: tuple[str, ...]
    before: str


@cache
def _tokens(page: str) -> tuple[Token, ...]:
    return tuple(_READER.parse((ROOT / page).read_text(encoding="utf-8")))


def _parts(page: str) -> Iterator[Token]:
    """What running text consists of: links, pictures, code, words."""
    for token in _tokens(page):
        yield from token.children or ()


def blocks(page: str) -> Iterator[Block]:
    before = ""
    for token in _tokens(page):
        if token.type in ("fence", "code_block"):
            first = (token.map or [0])[0] + (2 if token.type == "fence" else 1)
            yield Block(first, token.info, tuple(token.content.splitlines()), before)
        if token.content:
            before = token.content


def spans(page: str) -> list[str]:
    """Code within running text."""
    return [part.content for part in _parts(page) if part.type == "code_inline"]


def links(page: str) -> list[str]:
    """Where its links and pictures are, of those that are files of ours."""
    found = [part.attrGet("href") or part.attrGet("src") for part in _parts(page)]
    return [str(link) for link in found if link and "://" not in str(link)]


def anchors(page: str) -> set[str]:
    """What a link may name behind a #, as GitHub makes it from headings."""
    found: Counter[str] = Counter()
    names = set()
    for token, text in pairwise(_tokens(page)):
        if token.type == "heading_open":
            name = _anchor(text)
            names.add(f"{name}-{found[name]}" if found[name] else name)
            found[name] += 1
    return names


def _anchor(heading: Token) -> str:
    words = "".join(part.content for part in heading.children or ())
    return re.sub(r"[^\w\- ]", "", words.strip().lower()).replace(" ", "-")


def files(page: str) -> dict[str, str]:
    """What a page shows as the content of a file: a block after "`NAME`:"."""
    named = re.compile(r"`([\w/-]+\.[a-z]+)`(?: is|:)$")
    found = ((named.search(block.before), block) for block in blocks(page))
    return {name[1]: "\n".join((*block.lines, "")) for name, block in found if name}
