"""Commands that pages show in blocks of code."""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from tests.docs.pages import Block, blocks

OURS = ("brokerwise", "make", "python")
_LANGUAGES = ("", "bash", "console", "sh")
_PROMPT = "$ "
_EXPLANATION = re.compile(r" {2,}| # ")
_NOT_WORDS = re.compile(r" *(&|> *\S+)$")  # in the background; into a file


@dataclass(frozen=True)
class Command:
    """A line that somebody types, and, of those behind a $, what the page shows that
    it prints, right after the `last` line of it."""

    page: str
    line: int
    last: int
    text: str
    is_typed: bool = False
    shown: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"

    @property
    def is_simple(self) -> bool:
        """Whether no shell is needed to understand it."""
        return not re.search(r"[|&;<>$]", self.text)

    @property
    def calls(self) -> list[list[str]]:
        """The words of each call of a program of ours."""
        parts = [part.strip() for part in re.split(r"[|;] ?", self.text)]
        return [words(part) for part in parts if part.startswith(OURS)]


def words(text: str) -> list[str]:
    """A call without what explains it to the reader, and without where it goes."""
    call = _EXPLANATION.split(text)[0]
    while _NOT_WORDS.search(call):
        call = _NOT_WORDS.sub("", call)
    return shlex.split(call)


def commands(page: str) -> list[Command]:
    found = [b for b in blocks(page) if b.language in _LANGUAGES]
    return [command for block in found for command in _commands(page, block)]


def _commands(page: str, block: Block) -> Iterator[Command]:
    lines = list(_joined(block))
    if not any(text.startswith(_PROMPT) for *_, text in lines):
        for first, last, text in lines:
            if text.split(" ")[0] in OURS or re.search(rf"\| {OURS[0]} ", text):
                yield Command(page, first, last, text)
        return
    for place, (first, last, text) in enumerate(lines):
        if text.startswith(_PROMPT):
            after = [other for *_, other in lines[place + 1 :]]
            shown = tuple(takewhile(lambda other: not other.startswith(_PROMPT), after))
            yield Command(page, first, last, text.removeprefix(_PROMPT), True, shown)


def _joined(block: Block) -> Iterator[tuple[int, int, str]]:
    """Lines, each with those that continue it, and the numbers of both."""
    begun: list[str] = []
    for number, text in enumerate(block.lines, block.line):
        begun.append(text.strip() if begun else text)
        if not text.endswith(("\\", "|")):
            joined = " ".join(part.removesuffix("\\").rstrip() for part in begun)
            yield number - len(begun) + 1, number, joined
            begun = []
