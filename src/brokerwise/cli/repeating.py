"""How to get a result again."""

import shlex
from typing import Any

import typer

# They do not change a result, and settings may hold secrets.
_NOT_REPEATED = ("master", "conf", "json", "force")


def command_line(context: typer.Context, subject: str = "workload") -> str:
    """The call of a command on a workload, or on what its argument is called, if it
    has one and it is given: the options that are not the defaults."""
    words = ["brokerwise", *_command_words(context)]
    words += _each(context.params.get(subject))
    for option in context.command.params:
        value = context.params.get(option.name or "")
        unsaid = option.name in (subject, *_NOT_REPEATED)
        if unsaid or value is None or value == option.default:
            continue
        if isinstance(value, bool):
            words.append((option.opts if value else option.secondary_opts)[0])
            continue
        for each in _each(value):
            words += [option.opts[0], each]
    return shlex.join(words)


def _each(value: Any) -> list[str]:
    if value is None:
        return []
    every = value if isinstance(value, list | tuple) else [value]
    return [str(each) for each in every]


def _command_words(context: typer.Context) -> list[str]:
    """The command, after the groups that it is in."""
    words: list[str] = []
    within: Any = context
    while within.parent is not None:
        words.insert(0, within.info_name or "")
        within = within.parent
    return words
