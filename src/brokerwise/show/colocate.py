"""Plans of kind colocate: the result that `brokerwise colocate --json` prints, the same
in words, and its report."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerwise.model.arrays import Float64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series, level
from brokerwise.show.results import (
    STOPPED,
    Result,
    bound_fact,
    how_to_repeat,
    is_plan,
    origin,
    others_would,
    quality,
    screen,
    with_gap,
)
from brokerwise.show.tables import Fact, Table

if TYPE_CHECKING:
    from brokerwise.pipeline.colocate import Colocated
    from brokerwise.pipeline.feedback import Feedback
    from brokerwise.storage.place import Place


_FIGURES = (
    *("load", "replicas", "split", "ffd", "hybrid", "lfs", "bounds"),
    *("predicted", "agreed", "contradicted", "monotone", "moves"),
)


def colocate_result(found: "Colocated", out: "Place") -> dict[str, Any]:
    """One plan and what limits it; where there is none, its figures are null and
    `reason` says why, `remedy` what would help."""
    plan, topics = found.plan, found.topics
    result = {
        **quality(plan),
        "brokers": plan.objective,
        "topics": len(topics),
        "left_out": found.left_out,
        **{name: plan.figures.get(name) for name in _FIGURES},
        "k": plan.k,
        "margin": plan.margin,
        "targets_ms": sorted(set(topics.target_ms.tolist()))[:10],
        "full": None if plan.objective is None else _full(found),
        "observed": None if found.feedback is None else _observed(found.feedback),
        "outside": int(np.count_nonzero(found.model.outside(topics))),
        "model_source": found.model.source,
        "source_digest": found.source.digest,
        "model_digest": found.model.header.digest,
        **origin(plan, out, None if found.header is None else found.header.digest),
    }
    if found.header is not None:
        return result
    return result | {"reason": plan.reason, "remedy": plan.remedy}


def _observed(feedback: "Feedback") -> dict[str, Any]:
    """What was seen of the brokers of the plan before."""
    return {
        "plan": feedback.follows.plan.path,
        "data": feedback.follows.data.path,
        "brokers": feedback.measured,
        "brokers_missed": sum(bool(late) for late in feedback.late.values()),
        "topics_missed": len({t for late in feedback.late.values() for t in late}),
    }


def _full(found: "Colocated") -> int:
    """Brokers that have as many topics as they may."""
    counts = np.bincount(found.plan.replicas.broker)
    return int(np.count_nonzero(counts == found.plan.k))


MOST_BROKERS = 60
MOST_POINTS = 1_000
_MS_PER_SECOND = 1000


def colocate_details(plan: ColocationPlan, topics: TopicTable) -> dict[str, Any]:
    """What a report shows of a plan: its brokers by falling load, its replicas by
    rising share of the target; of many, some."""
    rows = plan.replicas
    load, share = cores(plan, topics), target_shares(plan, topics)
    total = np.bincount(rows.broker, load, minlength=rows.brokers)
    fullest = np.argsort(-total, kind="stable")[:MOST_BROKERS].tolist()
    order = np.argsort(share, kind="stable")
    at = np.linspace(0, len(order) - 1, min(MOST_POINTS, len(order))).round()
    shown = order[at.astype(np.int64)]
    return {
        "brokers": [_broker(plan, topics, broker, load, share) for broker in fullest],
        "loads": {
            "total": float(total.sum()),
            "most": float(total.max(initial=0)),
            "least": float(total.min()) if len(total) else 0.0,
        },
        "topics": {
            "rank": (at + 1).astype(int).tolist(),
            "name": [replica_name(plan, topics, int(row)) for row in shown],
            "broker": rows.broker[shown].tolist(),
            "predicted_ms": rows.predicted_p90_ms[shown].tolist(),
            "target_ms": topics.target_ms[rows.topic[shown]].tolist(),
            "share": share[shown].tolist(),
        },
    }


def _broker(
    plan: ColocationPlan,
    topics: TopicTable,
    broker: int,
    load: Float64s,
    share: Float64s,
) -> dict[str, Any]:
    """A broker with its topics, the heaviest first."""
    rows = plan.replicas
    members = np.flatnonzero(rows.broker == broker)
    members = members[np.argsort(-load[members], kind="stable")]
    return {
        "broker": broker,
        "topics": [replica_name(plan, topics, int(row)) for row in members],
        "loads": load[members].tolist(),
        "load": float(load[members].sum()),
        "predicted_ms": rows.predicted_p90_ms[members].tolist(),
        "nearest": float(share[members].max()),
    }


def cores(plan: ColocationPlan, topics: TopicTable) -> Float64s:
    """Cores that each replica keeps busy."""
    busy_ms = topics.processing_ms[plan.replicas.topic]
    found: Float64s = busy_ms * plan.replicas.rate_per_second / _MS_PER_SECOND
    return found


def target_shares(plan: ColocationPlan, topics: TopicTable) -> Float64s:
    """What is predicted of each replica, as a share of its target."""
    target_ms = topics.target_ms[plan.replicas.topic]
    found: Float64s = plan.replicas.predicted_p90_ms / target_ms
    return found


def replica_name(plan: ColocationPlan, topics: TopicTable, row: int) -> str:
    """The topic, with the number of its replica if it is split."""
    topic = int(plan.replicas.topic[row])
    first, end = np.searchsorted(plan.replicas.topic, [topic, topic + 1])
    number = f" ({plan.replicas.number[row]})" if end - first > 1 else ""
    return f"{topics.names[topic]}{number}"


_SHOWN = 10  # moves
COMPARED = ("ffd", "hybrid", "lfs")
BOUNDS = {
    "count": "k topics a broker",
    "replicas": "replicas of a topic, each on another broker",
    "clique": "topics that cannot share a broker, two by two",
    "matching": "pairs that can share a broker",
    "largest": "the largest set that each topic can be in",
    "groups": "sets of topics rounded down to a few sizes",
    "columns": "all sets of topics, in fractions",
    "exact": "all ways to put them together",
}
"""What a bound is drawn from, by its name."""

_NO_CUT = "Cutting it into replicas (--split) would not help: it needs a"
ADVICE = {
    "split": "Topics can be cut into replicas with --split.",
    "rate": f"{_NO_CUT} lower rate_per_second or a shorter processing_ms.",
    "target": f"{_NO_CUT} higher target (--target-ms, or its target_ms) or a shorter "
    "processing_ms.",
}
"""What to try where there is no plan, by its remedy."""


def answer(result: Result) -> str:
    """The plan in a sentence: how many brokers, and how good that is."""
    if not is_plan(result):
        return f"infeasible: {result['reason']}\n{ADVICE[result['remedy']]}"
    if not result["topics"]:
        return "There are no topics: no broker is needed."
    verb = "carries" if result["brokers"] == 1 else "carry"
    who = f"{counted(result['brokers'], 'broker')} {verb} "
    who += counted(result["topics"], "topic")
    each = "" if result["topics"] == 1 else "each "
    how = "predicted" if result["observed"] is None else "predicted, or seen,"
    below = f"{each}{how} to stay below its target"
    return f"{who}, {below}; {needed(result)}."


def needed(result: Result) -> str:
    """How many brokers are needed in any case."""
    if result["status"] == "optimal":
        return "fewer cannot"
    bound = result["bound"]
    return f"at least {bound:,} {'is' if bound == 1 else 'are'} needed"


def effort(result: Result) -> str:
    """How the plan was found."""
    said = f"algorithm {result['algorithm']}, {result['seconds']['total']:.1f} s, "
    return said + f"{counted(result['predicted'], 'set')} predicted"


def others(result: Result) -> str:
    """What the other algorithms come to, if they were tried on the way."""
    tried = [n for n in COMPARED if n != result["algorithm"] and result[n] is not None]
    return others_would("use", [f"{name} {result[name]:,}" for name in tried])


def bound_line(result: Result) -> str:
    """What no plan has fewer brokers than, and why."""
    said = with_gap(f"bound: {result['bound']:,}", result["gap"])
    by = [name for name, value in result["bounds"].items() if value == result["bound"]]
    return f"{said}, by {BOUNDS[by[0]]}" if by and result["bound"] else said


def splits(result: Result) -> Iterator[str]:
    """Which topics were cut."""
    if result["split"]:
        more = result["replicas"] - result["topics"] + result["split"]
        yield (
            f"split: {counted(result['split'], 'topic')} into "
            f"{counted(more, 'replica')}, each on another broker"
        )


def feedback(result: Result) -> Iterator[str]:
    """What was observed of the plan before, and which topics move."""
    if result["observed"] is None:
        return
    seen, moves = result["observed"], result["moves"]
    yield (
        f"observed: {counted(seen['topics_missed'], 'topic')} on "
        f"{seen['brokers_missed']:,} of {counted(seen['brokers'], 'broker')} missed; "
        f"{counted(len(moves), 'topic')} {'moves' if len(moves) == 1 else 'move'}"
    )
    for move in moves[:_SHOWN]:
        yield f"  {moved(move)}: {move['why']}"
    if len(moves) > _SHOWN:
        yield f"  and {len(moves) - _SHOWN:,} more: --json has them all"


def moved(move: Result) -> str:
    replica = f" (replica {move['replica']})" if move["replica"] else ""
    return f'"{move["topic"]}"{replica} from broker {move["from"]:,} to {move["to"]:,}'


def left_out(result: Result) -> Iterator[str]:
    """Topics of a workload that need no place."""
    if result["left_out"]:
        yield (
            f"left out: {counted(result['left_out'], 'topic')} of the workload that "
            "brokers have nothing to process of"
        )


def limit(result: Result) -> Iterator[str]:
    """What keeps brokers from taking more topics."""
    if not result["topics"]:
        return
    brokers, full, k = result["brokers"], result["full"], result["k"]
    cores = f"{significant(result['load'])} cores of processing in all"
    bounds = result["bounds"]
    if result["bound"] == brokers == bounds["count"]:
        yield f"binding: k = {k}, whatever the latency; {cores}"
    elif result["bound"] == brokers == bounds.get("replicas"):
        yield f"binding: a topic with {brokers:,} replicas; {cores}"
    elif not full:
        yield f"binding: latency, no broker has {k} topics; {cores}"
    else:
        verb = "has" if full == 1 else "have"
        have = f"{full:,} of {counted(brokers, 'broker')} {verb} k = {k} topics"
        yield f"binding: latency, and k: {have}; {cores}"


def model_line(result: Result) -> Iterator[str]:
    """What is known of the model: where it is from, and where it may be wrong."""
    yield f"model: {result['model_source']}, {outside(result)}; {disagreed(result)}"


def outside(result: Result) -> str:
    """How many topics the model has seen nothing like."""
    if not result["outside"]:
        return "all topics within the range it was trained on"
    lie = "lies" if result["outside"] == 1 else "lie"
    return (
        f"{counted(result['outside'], 'topic')} of {result['topics']:,} {lie} outside "
        "the range it was trained on"
    )


def disagreed(result: Result) -> str:
    """How often the model called a set feasible, but not a part of it."""
    if result["monotone"]:
        return "it never calls a part of a feasible set infeasible"
    agreed, wrong = result["agreed"], result["contradicted"]
    share = f" ({percent(wrong / agreed)})" if agreed else ""
    return (
        f"{wrong:,} of {counted(agreed, 'set')} that it calls feasible{share} have a "
        "part that it does not, and were not used"
    )


def cut_short(result: Result) -> Iterator[str]:
    """What kept the search from going on."""
    stopped = result["options"].get("stopped")
    if stopped == "time":
        yield STOPPED
    elif stopped == "work":
        yield f"{result['algorithm']} was stopped by its limit of work"


def colocate_text(result: Result, report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    if not is_plan(result):
        return answer(result)
    return screen(
        answer(result), _numbers(result), ("Plan", result["out"]), ("Report", report)
    )


def _numbers(result: Result) -> Iterator[str]:

    compared = others(result)
    yield effort(result) + (f"     {compared}" if compared else "")
    yield bound_line(result)
    yield from feedback(result)
    yield from splits(result)
    yield from left_out(result)
    yield from limit(result)
    yield from model_line(result)
    yield from cut_short(result)


def page_of(result: Result) -> Page:
    return Page(
        title=f"Co-location for {result['source']}",
        question="Which topics should share a broker?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[_moves(result)] if result["moves"] else [],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    loads = result["details"]["loads"]
    yield Fact("Brokers", f"{result['brokers']:,}", next(limit(result), ""))
    yield bound_fact("Certified bound", f"{result['bound']:,}", result["gap"])
    pieces = f", as {result['replicas']:,} replicas" if result["split"] else ""
    most = f"at most {result['k']} on a broker"
    yield Fact("Topics", f"{result['topics']:,}", f"{most}{pieces}")
    span = f"{significant(loads['least'])} to {significant(loads['most'])} on a broker"
    yield Fact("Load", f"{significant(result['load'])} cores", span)
    shares = result["details"]["topics"]["share"]
    if shares:
        note = (
            f"of its target is the nearest; the margin is {percent(result['margin'])}"
        )
        yield Fact("Predicted p90", percent(max(shares)), note)
    yield Fact("Outside the model", f"{result['outside']:,}", outside(result))
    yield Fact("Contradictions", f"{result['contradicted']:,}", disagreed(result))


def _remarks(result: Result) -> Iterator[Fact]:
    """What it is compared with, and what was seen of the plan before."""
    if compared := others(result):
        yield Fact("Beside the others", f"{result['brokers']:,}", compared)
    for said in splits(result):
        yield Fact("Topics that are split", f"{result['split']:,}", said)
    if result["observed"] is not None:
        yield Fact(
            "Topics that move", f"{len(result['moves']):,}", next(feedback(result))
        )


def _moves(result: Result) -> Table:
    return Table(
        "Topics that move",
        ("topic", "from", "to", "why"),
        [
            (
                _replica(move),
                f"{move['from']:,}",
                f"{move['to']:,}",
                move["why"],
            )
            for move in result["moves"]
        ],
    )


def _replica(move: Result) -> str:
    return f"{move['topic']} ({move['replica']})" if move["replica"] else move["topic"]


def _inputs(result: Result) -> list[Fact]:
    found = "; ".join([effort(result), bound_line(result), *cut_short(result)])
    facts = [
        Fact("Topics", result["source"], counted(result["topics"], "topic")),
        Fact("Digest of the topics", result["source_digest"]),
        Fact("Model", result["model"], f"trained on what was {result['model_source']}"),
        Fact("Digest of the model", result["model_digest"]),
    ]
    if result["observed"] is not None:
        seen = result["observed"]
        facts.append(Fact("Made from", seen["plan"], f"observed: {seen['data']}"))
    return [
        *facts,
        Fact("Plan", result["out"], result["digest"]),
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]


def plots(result: Result) -> list[Plot]:
    """What brokers carry, and how near topics come to their targets."""
    return [_loads(result), _latencies(result)]


def _loads(result: Result) -> Plot:
    """A bar a broker, the fullest first, made of its topics."""
    brokers = result["details"]["brokers"]
    deepest = max((len(one["topics"]) for one in brokers), default=0)
    rest = result["brokers"] - len(brokers)
    more = f" {rest:,} brokers that carry less are left out." if rest > 0 else ""
    return Plot(
        "What brokers carry",
        "Cores of processing on each broker, the fullest first: its heaviest topic "
        f"at the bottom, then the second, and so on.{more}",
        Axis("broker", False, [str(one["broker"]) for one in brokers]),
        Axis("load, cores", False),
        [_layer(brokers, depth) for depth in range(deepest)],
        [_broker_table(result)],
        stacked=True,
        wide=True,
    )


def _layer(brokers: list[Result], depth: int) -> Series:
    """The topics that are the so-manieth heaviest of their brokers."""
    having = [(x, one) for x, one in enumerate(brokers) if len(one["topics"]) > depth]
    return Series(
        f"{depth + 1}. topic",
        [x for x, _ in having],
        [one["loads"][depth] for _, one in having],
        [
            f"{one['topics'][depth]}: {significant(one['loads'][depth])} cores, "
            f"p90 {significant(one['predicted_ms'][depth])} ms"
            for _, one in having
        ],
        "bar",
    )


def _latencies(result: Result) -> Plot:
    """Predicted latencies in percent of each topic's target."""
    topics = result["details"]["topics"]
    allowed = 100 * (1 - result["margin"])
    return Plot(
        "How near topics come to their targets",
        "The p90 that is predicted for each topic, in percent of its target, from the "
        f"smallest to the largest. None may be above {allowed:g} %: the rest is the "
        "margin.",
        Axis("topics", False),
        Axis("predicted p90, % of the target", False),
        _points(topics, allowed) if topics["rank"] else [],
        [_topic_table(result)],
        wide=True,
    )


def _points(topics: Result, allowed: float) -> list[Series]:
    """A point a topic, the target, and what is left of it without the margin."""
    ends = [0.5, topics["rank"][-1] + 0.5]
    return [
        Series(
            "topics",
            topics["rank"],
            [100 * share for share in topics["share"]],
            [
                f"{name} on broker {broker}: {significant(p90)} ms of "
                f"{significant(target)} ms"
                for name, broker, p90, target, _ in _rows(topics)
            ],
            "points",
            0,
        ),
        level("target", 100, ends, "target", 1, dashed=False),
        level("target less margin", allowed, ends, f"{allowed:g} % of the target", 1),
    ]


def _rows(topics: Result) -> Iterator[tuple[str, int, float, float, float]]:
    columns = ("name", "broker", "predicted_ms", "target_ms", "share")
    return zip(*(topics[column] for column in columns), strict=True)


def _topic_table(result: Result) -> Table:
    rows = [
        (name, f"{broker}", significant(p90), significant(target), percent(share))
        for name, broker, p90, target, share in _rows(result["details"]["topics"])
    ]
    return Table(
        f"Topics, {len(rows):,} of {result['replicas']:,}",
        ("topic", "broker", "predicted p90, ms", "target, ms", "share"),
        rows,
    )


def _broker_table(result: Result) -> Table:
    brokers = result["details"]["brokers"]
    return Table(
        f"Brokers, {len(brokers):,} of {result['brokers']:,}",
        ("broker", "topics", "load, cores", "nearest to a target", "which"),
        [
            (
                f"{one['broker']}",
                f"{len(one['topics']):,}",
                significant(one["load"]),
                percent(one["nearest"]),
                ", ".join(one["topics"]),
            )
            for one in brokers
        ],
    )
