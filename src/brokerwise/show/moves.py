"""Reports of the balance of a live fleet: its loads and what was decided, one decision,
and a skew with its repair."""

from collections.abc import Iterator, Sequence

from brokerwise.show.balance import byte_rate, cov_plot, load_unit, loads_plot
from brokerwise.show.numbers import counted, dollars, point_in_time
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series, bars_or_line, level
from brokerwise.show.results import Result, how_to_repeat
from brokerwise.show.tables import Fact, Table

Decided = Sequence[Result]


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


def _has_moved(decision: Result) -> bool:
    return decision["proposal"] is not None and decision["begun"] is not None


def _moves_done(decision: Result) -> int:
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
    yield Fact("Balancer", f"{result['mode']}{paused}", result["balancer_status"])
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


def _decision(decision: Result) -> tuple[str, ...]:
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
        bars_or_line(len(brokers)),
        0,
    )
    mean = result["mean_load"] or 0.0
    ends = (-0.5, len(brokers) - 0.5)
    line = level("mean", mean / size, ends, f"mean {byte_rate(mean)}", 1)
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


_IS_OPEN = ("noted", "proposed", "outdated")


def decision_page(result: Result) -> Page:
    found = result["proposal"]
    open_ = result["state"] in _IS_OPEN
    return Page(
        title=f"Decision {result['number']} of the balancer",
        question="What would move, and what would that give?"
        if open_
        else "What moved, and what was that to give?",
        answer=decision_answer(result),
        facts=[] if found is None else list(_decision_facts(result, found)),
        tables=[]
        if found is None
        else [changes_table("Loads and sessions of the brokers", found["brokers"])],
        plots=[] if found is None else [_change_plot(found)],
        inputs=list(_decision_inputs(result)),
        data=result,
    )


def decision_answer(result: Result) -> str:
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


def _loads_text(found: Result) -> str:
    before, after = byte_rate(found["max_load"]), byte_rate(found["max_load_after"])
    return f"{before} to {after} (best possible at least {byte_rate(found['bound'])})"


def _cov_text(found: Result) -> str:
    return f"cov from {found['cov']:.2f} to {found['cov_after']:.2f}"


def _decision_facts(result: Result, found: Result) -> Iterator[Fact]:
    yield _max_load_fact(found)
    before, after = (
        sum(broker[key] for broker in found["brokers"])
        for key in ("load", "load_after")
    )
    yield Fact("Total load", byte_rate(after), f"before {byte_rate(before)}")
    yield _cov_fact(found)
    state = f"{found['state_bytes']:,} bytes of state are copied"
    yield Fact("Moves", f"{found['moves']:,}", state)
    yield _brokers_fact(found)
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


def _max_load_fact(found: Result) -> Fact:
    return Fact(
        "Max load",
        byte_rate(found["max_load_after"]),
        f"before {byte_rate(found['max_load'])}; best possible at least "
        f"{byte_rate(found['bound'])}",
    )


def _cov_fact(found: Result) -> Fact:
    return Fact("cov", f"{found['cov_after']:.3f}", f"before {found['cov']:.3f}")


def _brokers_fact(found: Result) -> Fact:
    after = len(found["brokers"]) - len(found["closing"])
    changes = [f"{name} starts" for name in found["added"]]
    changes += [f"{name} ends" for name in found["closing"]]
    return Fact("Brokers", f"{after:,}", ", ".join(changes) or "as before")


def changes_table(caption: str, brokers: Sequence[Result]) -> Table:
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


def _change_plot(found: Result) -> Plot:
    """Load of each broker, before and after, the best possible as a line."""
    brokers: Sequence[Result] = found["brokers"]
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
            bars_or_line(len(brokers)),
            number,
        )
        for number, (name, key) in enumerate(
            (("before", "load"), ("after", "load_after"))
        )
    ]
    best = f"no placement has a lower max load than {byte_rate(found['bound'])}"
    ends = (-0.5, len(brokers) - 0.5)
    bound = level("best possible", found["bound"] / size, ends, best, 2)
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


def _decision_inputs(result: Result) -> Iterator[Fact]:
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


def skew_page(result: Result) -> Page:
    return Page(
        title="A skew, and its repair",
        question="Does the balancer make loads even, without losing a message?",
        answer=skew_answer(result),
        facts=list(_skew_facts(result)),
        tables=[changes_table("What was approved", result["changes"])],
        plots=[loads_plot(result), cov_plot(result)],
        inputs=[
            Fact("Approved", result["digest"], result["reason"]),
            Fact("Seed", f"{result['seed']}"),
            *how_to_repeat(result),
        ],
        data=result,
    )


def skew_answer(result: Result) -> str:
    """What happened, in a sentence."""
    moved = (
        f"cov {result['cov']:.2f} -> {result['cov_after']:.2f} with "
        f"{counted(result['moves'], 'move')}, lost {result['lost']:,}, "
        f"twice {result['twice']:,}"
    )
    return f"{counted(result['brokers'], 'broker')}: {moved}."


def _skew_facts(result: Result) -> Iterator[Fact]:
    yield _max_load_fact(result)
    yield _cov_fact(result)
    yield Fact(
        "Moves", f"{result['moves']:,}", f"made in {result['move_seconds']:.1f} s"
    )
    yield Fact(
        "Deliveries",
        f"{result['delivered']:,}",
        f"of {counted(result['published'], 'message')}; lost {result['lost']:,}, twice "
        f"{result['twice']:,}",
    )
