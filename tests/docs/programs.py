"""What the programs that pages call understand: brokerwise, make, and scripts."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import typer
from tests.docs.pages import ROOT
from typer.core import TyperGroup
from typer.main import get_command

from brokerwise.cli.main import app

_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")


@dataclass(frozen=True)
class Found:
    """A command, or a group of them, and the words that are left for it."""

    command: Any
    context: typer.Context | None
    name: str
    rest: list[str]

    def options(self) -> set[str]:
        if isinstance(self.command, TyperGroup):
            return set().union(*(each.options() for each in self._commands()))
        named = (each.opts + each.secondary_opts for each in self.command.params)
        return {"--help", *(name for names in named for name in names)}

    def _commands(self) -> Iterator["Found"]:
        for name, command in self.command.commands.items():
            yield Found(command, None, name, [])


@cache
def _program() -> Any:
    return get_command(app)


def find(words: Sequence[str]) -> Found:
    """What the first words call, as far as they name groups and commands."""
    found = Found(_program(), None, "brokerwise", list(words))
    while isinstance(found.command, TyperGroup):
        context = typer.Context(found.command, found.context, info_name=found.name)
        first = "".join(found.rest[:1])
        inner = found.command.get_command(context, first)
        if inner is None:
            return found
        found = Found(inner, context, first, found.rest[1:])
    return found


def parse_brokerwise(words: Sequence[str]) -> None:
    """Let the program's own parser read a call, and run nothing."""
    found = find(words)
    assert not isinstance(found.command, TyperGroup), f"no command {words[:2]}"
    found.command.make_context(found.name, found.rest, found.context)


def parse_make(words: Sequence[str]) -> None:
    text = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", text, re.M))
    for word in words:
        name, _, value = word.partition("=")
        assert f"$({name})" in text if value else word in targets, word


def parse_python(words: Sequence[str]) -> None:
    """A script or a module of ours, and options that it has."""
    first, *rest = words
    name = first
    if first == "-m":
        name = f"{rest[0].replace('.', '/')}.py"
    text = (ROOT / name).read_text(encoding="utf-8")
    for option in options_in(" ".join(rest)):
        assert f'"{option}"' in text, f"{name} has no {option}"


PARSERS = {
    "brokerwise": parse_brokerwise,
    "make": parse_make,
    "python": parse_python,
}


def options_in(text: str) -> set[str]:
    return set(_OPTION.findall(text))


def options_for(span: str) -> set[str]:
    """Those that code in a text may name: of its command, or, without one, of any
    command or script."""
    found = find(span.removeprefix("brokerwise ").split())
    return _all_options() if found.context is None else found.options()


@cache
def _all_options() -> set[str]:
    scripts = [*ROOT.glob("benchmarks/*.py"), *ROOT.glob("examples/*/*.py")]
    texts = "".join(script.read_text(encoding="utf-8") for script in scripts)
    return find([]).options() | options_in(texts)
