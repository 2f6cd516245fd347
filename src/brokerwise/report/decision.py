"""The report of moves that were proposed or approved, from what `brokerwise moves
--dry-run --json` and `--approve DIGEST --json` print."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.balance_plots import load_unit
from brokerwise.report.balance_sentences import Result, byte_rate
from brokerwise.report.html import Fact, Table
from brokerwise.report.loads import BARS
from brokerwise.report.numbers import counted, dollars, point_in_time
from brokerwise.report.page import Page
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.repeating import how_to_repeat

_IS_OPEN = ("noted", "proposed", "outdated")


def page_of(result: Result) -> Page:
    found = result["proposal"]
    open_ = result["state"] in _IS_OPEN
    return Page(
        title=f"Decision {result['number']} of the balancer",
        question="What would move, and what would that give?"
        if open_
        else "What moved, and what was that to give?",
        answer=answer(result),
        facts=[] if found is None else list(_facts(result, found)),
        tables=[]
        if found is None
        else [changes_table("Loads and sessions of the brokers", found["brokers"])],
        plots=[] if found is None else [_loads(found)],
        inputs=list(_inputs(result)),
        data=result,
    )


def answer(result: Result) -> str:
    """What is proposed, or what came of it, in a sentence."""
    found = result["proposal"]
    if found is None:
        return f"Nothing to improve: {result['reason']}."
    moves = counted(found["moves"], "move")
    change = f"max load from {_loads_text(found)} and {_cov_text(found)}"
    if result["state"] in _IS_OPEN:
        return f"{moves} would bring {change}."
    if result["ended"] is None:
        return f"{moves} under way, which are to bring {change}."
    return f"{result['outcome']}; they were to bring {change}."


def _loads_text(found: Mapping[str, Any]) -> str:
    before, after = byte_rate(found["max_load"]), byte_rate(found["max_load_after"])
    return f"{before} to {after} (best possible at least {byte_rate(found['bound'])})"


def _cov_text(found: Mapping[str, Any]) -> str:
    return f"cov from {found['cov']:.2f} to {found['cov_after']:.2f}"


def _facts(result: Result, found: Mapping[str, Any]) -> Iterator[Fact]:
    yield Fact(
        "Max load",
        byte_rate(found["max_load_after"]),
        f"before {byte_rate(found['max_load'])}; best possible at least "
        f"{byte_rate(found['bound'])}",
    )
    before, after = (
        sum(broker[key] for broker in found["brokers"])
        for key in ("load", "load_after")
    )
    yield Fact("Total load", byte_rate(after), f"before {byte_rate(before)}")
    yield Fact("cov", f"{found['cov_after']:.3f}", f"before {found['cov']:.3f}")
    state = f"{found['state_bytes']:,} bytes of state are copied"
    yield Fact("Moves", f"{found['moves']:,}", state)
    yield _brokers(found)
    if found["cost"] is not None:
        cost = found["cost"]
        yield Fact(
            "Cost of an hour",
            dollars(cost["hour_after"]),
            f"before {dollars(cost['hour'])}; of a month "
            f"{dollars(cost['month_after'])}, before {dollars(cost['month'])}",
        )
    if result["states"]:
        said = [f"{count:,} {state}" for state, count in result["states"].items()]
        yield Fact("What became of them", ", ".join(said), result["outcome"])


def _brokers(found: Mapping[str, Any]) -> Fact:
    after = len(found["brokers"]) - len(found["closing"])
    changes = [f"{name} starts" for name in found["added"]]
    changes += [f"{name} ends" for name in found["closing"]]
    return Fact("Brokers", f"{after:,}", ", ".join(changes) or "as before")


def changes_table(caption: str, brokers: Sequence[Mapping[str, Any]]) -> Table:
    """What brokers carry, would carry, and who comes and leaves."""
    return Table(
        caption,
        ("broker", "load", "after", "sessions that come", "sessions that leave"),
        [
            (
                broker["broker"],
                byte_rate(broker["load"]),
                byte_rate(broker["load_after"]),
                f"{broker['arriving']:,}",
                f"{broker['leaving']:,}",
            )
            for broker in brokers
        ],
    )


def _loads(found: Mapping[str, Any]) -> Plot:
    """Load of each broker, before and after, the best possible as a line."""
    brokers: Sequence[Mapping[str, Any]] = found["brokers"]
    unit, size = load_unit([[b["load"], b["load_after"]] for b in brokers])
    places = list(range(len(brokers)))
    series = [
        Series(
            name,
            places,
            [broker[key] / size for broker in brokers],
            [
                f"{broker['broker']}, {name}: {byte_rate(broker[key])}"
                for broker in brokers
            ],
            "bar" if len(brokers) <= BARS else "line",
            number,
        )
        for number, (name, key) in enumerate(
            (("before", "load"), ("after", "load_after"))
        )
    ]
    best = f"no placement has a lower max load than {byte_rate(found['bound'])}"
    bound = Series(
        "best possible",
        [-0.5, len(brokers) - 0.5],
        [found["bound"] / size] * 2,
        [best] * 2,
        "line",
        2,
        True,
    )
    return Plot(
        "Load of the brokers, before and after",
        "What each broker takes in and gives out, before the moves and after them as "
        "planned. Dashed: what the fullest broker carries at least, wherever "
        "sessions are.",
        Axis("", False, [broker["broker"] for broker in brokers]),
        Axis(f"load, {unit}", False),
        [*series, bound] if brokers else [],
        [changes_table("Loads and sessions of the brokers", found["brokers"])],
        wide=True,
    )


def _inputs(result: Result) -> Iterator[Fact]:
    by = "itself" if result["automatic"] else "an operator"
    yield Fact("Decision", f"{result['number']}", f"{result['state']}, asked by {by}")
    yield Fact("Digest", result["digest"])
    yield Fact("Policy", result["policy"], result["reason"])
    yield Fact("Made at", point_in_time(result["at"]))
    if result["begun"] is not None:
        ended = result["ended"]
        until = "" if ended is None else f"over {ended - result['begun']:.1f} s later"
        yield Fact("Begun at", point_in_time(result["begun"]), until)
    yield from how_to_repeat(result)
