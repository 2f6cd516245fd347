"""Overlay plans in words: on the screen and in reports alike.

A result is what `brokerwise overlay --json` prints.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.model.units import told_apart
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.provision_sentences import gap_text, no_cheaper

Result = Mapping[str, Any]

COMPARED = ("greedy", "clustering", "steiner")
_SIZES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def is_plan(result: Result) -> bool:
    return result["status"] not in WITHOUT_PLAN


def answer(result: Result) -> str:
    """The plan in a sentence: what it costs, and how good that is."""
    if not is_plan(result):
        return f"{result['status']}: {result['reason']}"
    if not result["users"]:
        return "There are no users: there is nothing to wire."
    if not result["load"]:
        return "Nothing is sent that somebody else wants: this costs nothing."
    cost = f"{significant(result['cost'])} (access {short(result['access'])}, "
    cost += f"core {short(result['core'])})"
    verb = "costs" if result["users"] == 1 else "cost"
    said = f"{_who(result)} {verb} {cost}{_closeness(result)}"
    return f"{said}{_beside_random(result)}."


def _closeness(result: Result) -> str:
    """How far above the best possible cost the plan may be."""
    if result["status"] == "optimal":
        return ", the least possible"
    if not result["bound"]:
        return ", with nothing proven about the best possible"
    return f"; {no_cheaper('wiring', result)}"


def short(number: float) -> str:
    """`1.19 M`, `45.2 k`, `873`: three digits."""
    for size, letter in _SIZES:
        if abs(number) >= size * 0.9995:
            return f"{significant(number / size)} {letter}"
    return significant(number)


def effort(result: Result) -> str:
    """How the plan was found."""
    said = f"algorithm {result['algorithm']}"
    if result["tree"]:
        said += " on one tree"
    said += f", {result['seconds']['total']:.1f} s"
    if result["start"] not in (None, result["algorithm"]):
        said += f", {counted(result['moves'], 'move')} in "
        said += f"{counted(result['rounds'], 'round')}, the best from {result['start']}"
    return said


def others(result: Result) -> str:
    """What the other algorithms come to, if they were tried on the way."""
    tried = [name for name in COMPARED if name != result["algorithm"]]
    tried = [name for name in tried if result[name] is not None]
    said = [
        f"{name} {short(result[name])}{_more(result, result[name])}" for name in tried
    ]
    if not said:
        return ""
    return ", ".join([said[0].replace(" ", " would cost ", 1), *said[1:]])


def bound_line(result: Result) -> str:
    """What no plan costs less than, and what it is made of. An integer program has
    no parts."""
    said = f"bound: {significant(result['bound'])} (gap {gap_text(result['gap'])})"
    access, core = result["bound_access"], result["bound_core"]
    if access is None or core is None or result["algorithm"] == "ilp":
        return said
    return f"{said} = access {short(access)} + core {short(core)}"


def limit(result: Result) -> Iterator[str]:
    """Whether the brokers' capacity keeps users from cheaper links."""
    if not result["load"]:
        return
    kept, full = result["kept"], result["full"]
    if not kept:
        free = 1 - result["load"] / result["capacity"]
        yield (
            "not binding: no full broker keeps a user from a cheaper link; "
            f"{percent(free)} of the capacity is free"
        )
        return
    brokers = f"{full:,} of {counted(result['fleet'], 'broker')}"
    yield (
        f"binding: capacity of {brokers}; {counted(kept, 'user')} would have "
        "a cheaper link there"
    )


def cut_short(result: Result) -> Iterator[str]:
    """What kept the search from going on."""
    if result["options"].get("stopped"):
        yield "the search was stopped by --seconds: another run may end elsewhere"


def _who(result: Result) -> str:
    users, used, every = result["users"], result["brokers"], result["fleet"]
    brokers = counted(every, "broker")
    if used < every:
        brokers = f"{used:,} of {brokers}"
    return f"{counted(users, 'user')} on {brokers}"


def _beside_random(result: Result) -> str:
    if result["crr"] is None or result["random"] == result["cost"]:
        return ""
    times, _ = told_apart(significant, result["crr"], 1)
    return f"; random wiring would cost {times} times as much"


def _more(result: Result, cost: float) -> str:
    own = result["cost"]
    if not own or cost == own:
        return " (the same)" if cost == own else ""
    what = "more" if cost > own else "less"
    return f" ({percent(abs(cost / own - 1))} {what})"
