"""Co-location plans in words: on the screen and in reports alike.

A result is what `brokerwise colocate --json` prints.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.provision_sentences import gap_text

Result = Mapping[str, Any]

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


def is_plan(result: Result) -> bool:
    return result["status"] not in WITHOUT_PLAN


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
    said = [f"{name} {result[name]:,}" for name in tried]
    if not said:
        return ""
    return ", ".join([said[0].replace(" ", " would use ", 1), *said[1:]])


def bound_line(result: Result) -> str:
    """What no plan has fewer brokers than, and why."""
    said = f"bound: {result['bound']:,} (gap {gap_text(result['gap'])})"
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
        yield "the search was stopped by --seconds: another run may end elsewhere"
    elif stopped == "work":
        yield f"{result['algorithm']} was stopped by its limit of work"
