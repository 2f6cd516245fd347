"""How to get a result again."""

import shlex

import typer

# They do not change a result, and settings may hold secrets.
_NOT_REPEATED = ("workload", "master", "conf", "json", "force")


def command_line(context: typer.Context) -> str:
    """The call of a command on a workload: the options that are not the defaults."""
    command = context.info_name or ""
    words = ["brokerwise", command, str(context.params["workload"])]
    for option in context.command.params:
        value = context.params.get(option.name or "")
        if option.name in _NOT_REPEATED or value is None or value == option.default:
            continue
        every = value if isinstance(value, list | tuple) else [value]
        for each in every:
            words += [option.opts[0], str(each)]
    return shlex.join(words)
