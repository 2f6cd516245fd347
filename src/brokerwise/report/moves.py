"""The report of the balance of a live fleet, from what `brokerwise moves --json`
prints."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.report.balance_plots import load_unit
from brokerwise.report.balance_sentences import Result, byte_rate
from brokerwise.report.html import Fact, Table
from brokerwise.report.loads import BARS
from brokerwise.report.numbers import counted, point_in_time
from brokerwise.report.page import Page
from brokerwise.report.plots import Axis, Plot, Series
from brokerwise.report.repeating import how_to_repeat

Decided = Sequence[Mapping[str, Any]]


def page_of(result: Result) -> Page:
    carried_out = [d for d in result["decisions"] if _has_moved(d)]
    return Page(
        title="Balance of a live fleet",
        question="How even are the loads of the fleet, and what was done about it?",
        answer=answer(result),
        facts=list(_facts(result, carried_out)),
        tables=[_brokers(result), *_decisions(result)],
        plots=[_loads(result), _over_time(carried_out)],
        inputs=list(_inputs(result)),
        data=result,
    )


def answer(result: Result) -> str:
    """The state of the fleet in a sentence."""
    done = sum(_moves_done(decision) for decision in result["decisions"])
    moved = f"{counted(done, 'move')} made {_since(result)}"
    moved = moved if done else "nobody was moved yet"
    if result["max_load"] is None:
        return f"Loads are not known ({result['problem']}); {moved}."
    return (
        f"{counted(len(result['brokers']), 'broker')}: max load "
        f"{byte_rate(result['max_load'])} with a mean of "
        f"{byte_rate(result['mean_load'])}, cov {result['cov']:.2f}; {moved}."
    )


def _since(result: Result) -> str:
    """Which decisions there are: those of long ago are not told."""
    decisions = result["decisions"]
    is_all = any(decision["number"] == 1 for decision in decisions)
    return "so far" if is_all else f"by the last {len(decisions):,} decisions"


def _has_moved(decision: Mapping[str, Any]) -> bool:
    return decision["proposal"] is not None and decision["begun"] is not None


def _moves_done(decision: Mapping[str, Any]) -> int:
    done: int = decision["states"].get("done", 0)
    return done


def _facts(result: Result, carried_out: Decided) -> Iterator[Fact]:
    if result["max_load"] is not None:
        mean = f"with a mean of {byte_rate(result['mean_load'])}"
        yield Fact("Max load", byte_rate(result["max_load"]), mean)
        yield Fact("cov", f"{result['cov']:.3f}", "standard deviation over the mean")
    sessions = sum(broker["sessions"] for broker in result["brokers"])
    yield Fact("Brokers", f"{len(result['brokers']):,}", f"{sessions:,} sessions")
    paused = ", paused" if result["paused"] else ""
    yield Fact("Balancer", f"{result['mode']}{paused}", result["mind"])
    done = sum(map(_moves_done, carried_out))
    under_way = f"{result['moves_under_way']:,} under way"
    yield Fact("Moves made", f"{done:,}", under_way)
    yield Fact(
        "Decisions",
        f"{len(result['decisions']):,}",
        f"{len(carried_out):,} of them were carried out",
    )


def _brokers(result: Result) -> Table:
    return Table(
        "Loads and sessions of the brokers",
        ("broker", "load", "sessions"),
        [
            (broker["broker"], byte_rate(broker["load"]), f"{broker['sessions']:,}")
            for broker in result["brokers"]
        ],
    )


def _decisions(result: Result) -> Iterator[Table]:
    """The last decisions, the newest first, each with its reason."""
    if not result["decisions"]:
        return
    yield Table(
        "What the balancer decided and why, the newest first",
        ("decision", "when", "by", "state", "moves", "cov", "reason, and outcome"),
        [_decision(decision) for decision in result["decisions"]],
    )


def _decision(decision: Mapping[str, Any]) -> tuple[str, ...]:
    found = decision["proposal"]
    outcome = f"; {decision['outcome']}" if decision["outcome"] else ""
    return (
        f"{decision['number']}",
        point_in_time(decision["at"]),
        "itself" if decision["automatic"] else "operator",
        decision["state"],
        "" if found is None else f"{found['moves']:,}",
        "" if found is None else f"{found['cov']:.2f} -> {found['cov_after']:.2f}",
        f"{decision['reason']}{outcome}",
    )


def _loads(result: Result) -> Plot:
    """Load of each broker, and the mean as a line."""
    brokers = result["brokers"]
    unit, size = load_unit([[broker["load"] for broker in brokers]])
    drawn = Series(
        "load",
        range(len(brokers)),
        [broker["load"] / size for broker in brokers],
        [
            f"{broker['broker']}: {byte_rate(broker['load'])}, "
            f"{counted(broker['sessions'], 'session')}"
            for broker in brokers
        ],
        "bar" if len(brokers) <= BARS else "line",
        0,
    )
    mean = result["mean_load"] or 0.0
    line = Series(
        "mean",
        [-0.5, len(brokers) - 0.5],
        [mean / size] * 2,
        [f"mean {byte_rate(mean)}"] * 2,
        "line",
        1,
        True,
    )
    return Plot(
        "Load of the brokers",
        "What each broker takes in and gives out, and the mean.",
        Axis("", False, [broker["broker"] for broker in brokers]),
        Axis(f"load, {unit}", False),
        [drawn, line] if brokers else [],
        [_brokers(result)],
    )


def _over_time(carried_out: Decided) -> Plot:
    """cov before each decision that was carried out, and as planned after it."""
    rows = sorted(carried_out, key=lambda decision: float(decision["at"]))
    start = rows[0]["at"] if rows else 0.0
    minutes = [(decision["at"] - start) / 60 for decision in rows]
    series = [
        Series(
            name,
            minutes,
            [decision["proposal"][key] for decision in rows],
            [
                f"decision {decision['number']}, {point_in_time(decision['at'])}: cov "
                f"{name} {decision['proposal'][key]:.3f}"
                for decision in rows
            ],
            "path",
            number,
        )
        for number, (name, key) in enumerate(
            (("before", "cov"), ("after", "cov_after"))
        )
    ]
    return Plot(
        "How uneven loads were at each decision",
        "cov, the standard deviation of the loads over their mean: before each "
        "decision that was carried out, and as planned after it.",
        Axis("minutes since the first of these decisions", False),
        Axis("cov", False),
        series if rows else [],
        [
            Table(
                "cov at decisions",
                ("decision", "when", "before", "after", "moves"),
                [
                    (
                        f"{decision['number']}",
                        point_in_time(decision["at"]),
                        f"{decision['proposal']['cov']:.3f}",
                        f"{decision['proposal']['cov_after']:.3f}",
                        f"{_moves_done(decision):,}",
                    )
                    for decision in rows
                ],
            )
        ],
    )


def _inputs(result: Result) -> Iterator[Fact]:
    settings = ", ".join(f"{k} {v}" for k, v in result["options"].items())
    yield Fact("Balancer", result["mode"], settings)
    if result["measured"] is not None:
        yield Fact("Measured at", point_in_time(result["measured"]))
    yield from how_to_repeat(result)
