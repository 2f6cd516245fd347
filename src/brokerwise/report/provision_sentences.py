"""Plans of kind provision in words: on the screen and in reports alike.

A result is what `brokerwise provision --json` prints of one plan.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from math import isclose
from typing import Any

from brokerwise.model.plan import WITHOUT_PLAN, Status
from brokerwise.model.units import told_apart
from brokerwise.report.html import Table
from brokerwise.report.numbers import (
    counted,
    dollars,
    duration,
    percent,
    percent_up,
)

Result = Mapping[str, Any]

# A gap from which on it is said that not everything was tried.
WORTH_TRYING = 0.01

_BY_CAPACITY = re.compile(r"broker-[0-9]+")


def is_plan(result: Result) -> bool:
    return result["status"] not in WITHOUT_PLAN


def answer(result: Result) -> str:
    """The plan in a sentence."""
    if not is_plan(result):
        return f"{result['status']}: {result['reason']}"
    if not result["brokers"]:
        return "Nothing has to be carried: no broker is needed, which costs nothing."
    verb = "carries" if result["brokers"] == 1 else "carry"
    return (
        f"{_brokers(result)} {verb} {counted(result['pairs'], 'pair')} for "
        f"{dollars(result['cost'])} a period of {_period(result)} "
        f"({dollars(result['cost_month'])} a month){_closeness(result)}."
    )


def answer_of_several(results: Sequence[Result]) -> str:
    """Several plans in a sentence: the cheapest and the dearest."""
    plans = [result for result in results if is_plan(result)]
    many = counted(len(results), "plan")
    if not plans:
        proven = all(result["status"] == Status.INFEASIBLE for result in results)
        return f"None of {many} {'is possible' if proven else 'was found'}."
    by_cost = sorted(plans, key=lambda plan: plan["cost"])
    low, high = by_cost[0], by_cost[-1]
    states = [result["status"] for result in results]
    numbers = [(states.count(status), status) for status in WITHOUT_PLAN]
    rest = "".join(f"; {n:,} of them {status}" for n, status in numbers if n)
    least, most = told_apart(dollars, low["cost"], high["cost"])
    return (
        f"{many}{rest}: from {least} ({title(low)}) to {most} ({title(high)}) a period "
        f"of {_period(low)}."
    )


def title(result: Result) -> str:
    """What tells a plan from others of the same run."""
    return f"threshold {result['threshold']:,}, {fleet_label(result)}"


def fleet_label(result: Result) -> str:
    return " + ".join(_type_label(kind) for kind in result["types"])


def budget_sentence(result: Result) -> str:
    """Can it be had for so much, and how that is known."""
    money = (result["budget"], result["cost"], result["bound"])
    if result["affordable"] == "yes":
        budget, cost = told_apart(dollars, *money[:2])
        return f"yes: {cost} is within the budget of {budget}"
    if result["affordable"] == "no":
        budget, bound = told_apart(dollars, money[0], money[2])
        return (
            f"no: every plan costs at least {bound}, "
            f"which is above the budget of {budget}"
        )
    budget, cost, bound = told_apart(dollars, *money)
    return (
        f"unknown: this plan costs {cost}, every plan at least {bound}, and the budget "
        f"of {budget} is between them"
    )


def number_lines(result: Result) -> Iterator[tuple[str, str]]:
    """The numbers that carry the answer, each with its label."""
    yield (
        "cost",
        f"brokers {dollars(result['cost_brokers'])} + bandwidth "
        f"{dollars(result['cost_bandwidth'])}",
    )
    yield (
        "load",
        f"{result['load']:,} = {result['incoming']:,} incoming + "
        f"{result['outgoing']:,} outgoing; at least {result['load_bound']:,}",
    )
    yield (
        "bounds",
        f"certified {dollars(result['bound'])} (gap {gap_text(result['gap'])}), "
        f"the paper's {dollars(result['bound_paper'])} "
        f"(gap {gap_text(result['gap_paper'])})",
    )
    yield "prices", prices(result)
    naive = result.get("naive")
    if naive and naive["cost"]:
        beside = _beside(result["cost"], naive["cost"])
        brokers = counted(naive["brokers"], "broker")
        yield "naive", f"{brokers}, {dollars(naive['cost'])}: {beside}"


def _beside(cost: float, naive: float) -> str:
    """What the naive plan costs next to this one; it may cost less."""
    if isclose(cost, naive):
        return "as much as this plan"
    if naive < cost:
        return f"{percent(1 - naive / cost)} less than this plan"
    return f"you save {percent(1 - cost / naive)}"


def prices(result: Result) -> str:
    types, sent = result["types"], result["gigabyte_usd"]
    hours = [dollars(kind["hour_usd"]) for kind in types]
    if len(types) > 1:
        labels = map(_type_label, types)
        hours = [f"{label} {usd}" for label, usd in zip(labels, hours, strict=True)]
    volume = f"{dollars(sent)} a gigabyte"
    if result["gigabyte_in_usd"] != sent:
        volume += f" out and {dollars(result['gigabyte_in_usd'])} in"
    assumed = " (as the paper has for c3.large, where none were given)"
    return (
        f"{', '.join(hours)} an hour, {volume}"
        f"{assumed if result['prices_assumed'] else ''}"
    )


def left_out(result: Result) -> Iterator[str]:
    """Topics that no broker can carry."""
    number = result["left_out"]
    if number:
        verb, them = ("is", "it") if number == 1 else ("are", "them")
        yield (
            f"{counted(number, 'topic')} {verb} too large for every broker and left "
            f"out: nobody needs {them}"
        )


def tried(result: Result) -> Iterator[str]:
    """That another way was taken than the one that was asked for."""
    asked = result["options"].get("asked")
    if asked:
        yield (
            f"{asked} found no plan within the limits of the fleet; "
            f"{result['algorithm']} did"
        )


def stopped(result: Result) -> Iterator[str]:
    if result["options"].get("stopped"):
        yield "the search was stopped by --seconds: another run may end elsewhere"


def untried(result: Result) -> Iterator[str]:
    """What was not tried, where that could still save something worth mentioning."""
    left = result["options"].get("not_tried", ())
    if left and (result["gap"] is None or result["gap"] >= WORTH_TRYING):
        yield (
            f"not tried: {counted(len(left), 'other combination')} of --selection and "
            "--packing (not_tried in plan.json); one may be cheaper"
        )


def moves_sentence(result: Result) -> str:
    """What changes from the plan before."""
    moves, limit = result["moves"], result["max_moves"]
    budget = "" if limit is None else f" (budget {limit:,})"
    verb = "moves" if moves == 1 else "move"
    cost, change, anew = _change_of_cost(result)
    return (
        f"{moves:,} of {counted(result['pairs'], 'pair')} {verb}{budget}, "
        f"{result['added']:,} added, {result['removed']:,} removed; "
        f"{counted(result['brokers_added'], 'broker')} added, "
        f"{result['brokers_removed']:,} removed; "
        f"cost {change}{cost}{anew}"
    )


def _change_of_cost(result: Result) -> tuple[str, str, str]:
    """The cost, and what it was before and would be from scratch, if that is known;
    what differs by rounding only is the same."""
    cost = result["cost"]
    known = {
        key: cost if isclose(result[key], cost) else result[key]
        for key in ("cost_before", "cost_fresh")
        if result[key] is not None
    }
    text, *others = told_apart(dollars, cost, *known.values())
    said = dict(zip(known, others, strict=True))
    before, fresh = said.get("cost_before"), said.get("cost_fresh")
    return (
        text,
        "" if before is None else f"{before} -> ",
        "" if fresh is None else f", from scratch {fresh}",
    )


def comparison(results: Sequence[Result]) -> Table:
    """Plans beside each other, a row each."""
    columns = (
        *("type", "threshold", "brokers", "cost", "a month"),
        *("certified", "gap", "the paper's", "gap", "load"),
    )
    return Table(
        f"Costs and bounds of a period of {_period(results[0])}",
        columns,
        [_row(result) for result in results],
    )


def _row(result: Result) -> tuple[str, ...]:
    first = (fleet_label(result), f"{result['threshold']:,}")
    if not is_plan(result):
        return (*first, result["status"], *[""] * 7)
    return (
        *first,
        f"{result['brokers']:,}",
        dollars(result["cost"]),
        dollars(result["cost_month"]),
        dollars(result["bound"]),
        gap_text(result["gap"]),
        dollars(result["bound_paper"]),
        gap_text(result["gap_paper"]),
        f"{result['load']:,}",
    )


def served(result: Result) -> Iterator[str]:
    """Who gets everything because that is less than the threshold."""
    modest = result["modest"]
    if not modest:
        return
    less = f"less than {result['threshold']:,}"
    if result["own_thresholds"]:
        less = "less than their thresholds"
    who = f"{counted(modest, 'subscriber')} {'wants' if modest == 1 else 'want'} {less}"
    if modest == result["subscribers"]:
        yield f"{'all ' if modest > 1 else ''}{who}: everything is served"
    elif result["pairs"] == result["pairs_wanted"]:
        yield f"{who}; everything is served"
    else:
        yield f"{who}: {'it gets' if modest == 1 else 'they get'} everything"


def _brokers(result: Result) -> str:
    used = [kind for kind in result["types"] if kind["brokers"]]
    number = counted(result["brokers"], "broker")
    if len(used) == 1:
        of = "of " if _BY_CAPACITY.fullmatch(used[0]["type"]) else ""
        return f"{number} {of}{_type_label(used[0])}"
    each = ", ".join(f"{kind['brokers']:,} {_type_label(kind)}" for kind in used)
    return f"{number} ({each})"


def _type_label(kind: Result) -> str:
    """A type by its name, or by its capacity if that is all there is."""
    if _BY_CAPACITY.fullmatch(kind["type"]):
        return f"capacity {kind['capacity']:,}"
    return str(kind["type"])


_LEAST_SHOWN = 1e-5  # what is less is not worth its digits


def _closeness(result: Result) -> str:
    if result["gap"] == 0:
        return ", which is the best possible"
    if not result["bound"]:
        return ", with nothing proven about the best possible"
    return f"; {no_cheaper('plan', result)}"


def no_cheaper(what: str, result: Result) -> str:
    """The gap in words: what the objective could be lower by, as a share of it."""
    least = max(result["gap"], _LEAST_SHOWN)
    return f"no {what} is more than {percent_up(least)} cheaper"


def gap_text(gap: float | None) -> str:
    """A gap in percent, rounded up as in `no_cheaper`; below a thousandth of one it is
    not worth its digits."""
    if gap is None:
        return "unknown"
    return "< 0.001 %" if 0 < gap < _LEAST_SHOWN else percent_up(gap)


def _period(result: Result) -> str:
    return duration(result["period_seconds"])
