"""Plans of kind fill: the result that `brokerwise fill --json` prints, the same in
words, and its report."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.plan import Plan
from brokerwise.show.numbers import counted, percent
from brokerwise.show.page import Page
from brokerwise.show.plots import (
    Axis,
    Plot,
    Series,
    brokers_by_type,
    load_plot,
    loads_of,
)
from brokerwise.show.results import (
    STOPPED,
    Result,
    bound_fact,
    finite,
    how_to_repeat,
    origin,
    others_would,
    quality,
    screen,
    with_gap,
)
from brokerwise.show.tables import Fact, Table

if TYPE_CHECKING:
    from brokerwise.model.fleet import Bandwidth, Fleet
    from brokerwise.model.workload import Workload
    from brokerwise.pipeline.fill import Filled
    from brokerwise.planners.control import Stop
    from brokerwise.planners.fill.limits import Limits
    from brokerwise.storage.place import Place


_FIGURES = (
    *("delivered", "delivered_percent", "wanted", "incoming", "outgoing", "pairs"),
    *("bound_paper", "gap_paper", "greedy", "mkp", "patterns", "left_out"),
    "weighted_wanted",
)
_NAMED = 3  # topics that a warning names


def fill_result(
    filled: "Filled", fleet: "Fleet | Bandwidth", out: "Place", stop: "Stop"
) -> dict[str, Any]:
    """One plan, what limits it, and what to beware of; `fleet` is what was asked."""
    from brokerwise.planners.fill.limits import limits

    plan, workload = filled.plan, filled.workload
    found = limits(plan, workload)
    return {
        **quality(plan),
        "brokers": len(plan.brokers),
        "load": plan.load,
        **{key: finite(plan.figures.get(key)) for key in _FIGURES},
        "types": _types(plan),
        "fleet": found.brokers,
        "bandwidth": _total_bandwidth(plan.fleet),
        "full": found.full,
        "left_over": found.left_over,
        "more": _more_brokers(filled, found, stop),
        **_sizes(workload),
        "warnings": _warnings(filled, fleet),
        **origin(plan, out, filled.header.digest),
    }


def _more_brokers(filled: "Filled", found: "Limits", stop: "Stop") -> int | None:
    """How many more brokers of this size were found to carry everything that fits.

    None if everything is carried, there are several sizes, or it takes too long. The
    algorithms tried are those that a plan by the same algorithm is as good as.
    """
    from brokerwise.planners.fill.filling import HEURISTICS
    from brokerwise.planners.fill.limits import enough
    from brokerwise.planners.fill.problem import Demand

    plan, sizes = filled.plan, filled.plan.fleet.broker_types
    split = "total_bandwidth" in plan.options
    if len(sizes) > 1 or split or not found.left_over:
        return None
    same = (plan.algorithm,) if plan.algorithm in HEURISTICS else tuple(HEURISTICS)
    number = enough(
        Demand.of(filled.workload, plan.weights),
        sizes[0].capacity,
        least=found.brokers + 1,
        algorithms=same,
        stop=stop,
    )
    return None if number is None else number - found.brokers


def _warnings(filled: "Filled", fleet: "Fleet | Bandwidth") -> list[str]:
    """Says which wanted topics fit on no broker, if any."""
    from brokerwise.planners.fill.problem import Demand
    from brokerwise.planners.fill.solve import fits_nowhere, largest_broker

    demand = Demand.of(filled.workload, filled.plan.weights)
    topics = fits_nowhere(demand, fleet)
    if not len(topics):
        return []
    largest = largest_broker(fleet)
    names = filled.workload.topic_names
    told = [
        f'"{names[int(t)]}" (rate {demand.rates[t]:,}) needs {2 * demand.rates[t]:,}'
        for t in topics[:_NAMED]
    ]
    rest = len(topics) - len(told)
    if rest:
        told.append(f"and {rest:,} more")
    what = "1 topic fits" if len(topics) == 1 else f"{len(topics):,} topics fit"
    return [f"{what} on no broker, the largest has {largest:,}: {', '.join(told)}"]


def _sizes(workload: "Workload") -> dict[str, int]:
    return {
        "topics": workload.topics,
        "subscribers": workload.subscribers,
        "pairs_wanted": workload.pairs,
        "period_seconds": workload.period_seconds,
        "message_bytes": workload.message_bytes,
    }


def _types(plan: Plan) -> list[dict[str, Any]]:
    """The types of the fleet, with how many brokers of each carry something."""
    return [
        {
            "type": kind.name,
            "capacity": kind.capacity,
            "count": kind.count,
            "brokers": int(used),
        }
        for kind, used in zip(plan.fleet, brokers_by_type(plan), strict=True)
    ]


def _total_bandwidth(fleet: "Fleet") -> int:
    return sum((kind.count or 0) * kind.capacity for kind in fleet)


_GROUPS = 12
_WIDE = 32  # times the least value


def fill_details(plan: Plan, rates: Int64s, followers: Int64s) -> dict[str, Any]:
    """What a report shows of a plan of kind fill; O(brokers, topics and runs, and
    sorting them)."""
    runs = plan.placement
    served = np.bincount(runs.topic, runs.pairs, len(rates)).astype(np.int64)
    wanted, delivered = rates * followers, rates * served
    return {
        "loads": loads_of(plan),
        "by_rate": _grouped(rates, wanted, delivered),
        "by_followers": _grouped(followers, wanted, delivered),
        "topics": {
            "wanted": int(np.count_nonzero(followers)),
            "whole": int(np.count_nonzero((served > 0) & (served == followers))),
            "part": int(np.count_nonzero((served > 0) & (served < followers))),
            "cut": int(np.count_nonzero(np.bincount(runs.topic) > 1)),
        },
    }


def _grouped(key: Int64s, wanted: Int64s, delivered: Int64s) -> dict[str, Any]:
    """Data of the topics by `key`, in groups; only where data is wanted."""
    some = wanted > 0
    key, wanted, delivered = key[some], wanted[some], delivered[some]
    lows, highs, group = _groups(key)
    sums = np.zeros((3, len(lows)), np.int64)
    for row, values in enumerate((np.ones_like(wanted), wanted, delivered)):
        np.add.at(sums[row], group, values)
    return {
        "low": lows.tolist(),
        "high": highs.tolist(),
        "topics": sums[0].tolist(),
        "wanted": sums[1].tolist(),
        "delivered": sums[2].tolist(),
    }


def _groups(key: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """First and last value of groups of keys above zero, and the group of each key.

    Few values stand for themselves. More are put into groups of equal width, or from
    a power of two to the next where they differ widely.
    """
    if len(np.unique(key)) <= _GROUPS:
        lows, group = np.unique(key, return_inverse=True)
        return lows, lows, group
    least, most = int(key.min()), int(key.max())
    if most > _WIDE * least:
        # Exact below 2^53: x = m * 2^e with m from 1/2 to below 1.
        low = np.int64(1) << (np.frexp(key.astype(np.float64))[1] - 1)
        lows, group = np.unique(low, return_inverse=True)
        return lows, 2 * lows - 1, group
    width = -(-(most - least + 1) // _GROUPS)
    lows, group = np.unique(key - (key - least) % width, return_inverse=True)
    return lows, lows + width - 1, group


def answer(result: Result) -> str:
    """The plan in a sentence or two: what is delivered, and what is proven."""
    if not result["pairs_wanted"]:
        return "Nothing is wanted: there is nothing to deliver."
    if result["pairs"] == result["pairs_wanted"]:
        return f"{_who(result)} all of the data ({result['delivered']:,})."
    if not _whole(result):
        return f"{_who(result)} nothing: all that is wanted counts nothing."
    return f"{_who(result)} {_delivered(result)}. {_proven(result)}"


def value_share(result: Result, value: float, *, up: bool = False) -> str:
    """What a value is of all that is wanted, in percent."""
    return share_text(int(value), _whole(result), up=up)


def share_text(part: int, whole: int, *, up: bool = False) -> str:
    """`85.58 %`: two digits after the point, rounded down, or up for a bound, so that
    what is said is true and 100.00 % is all."""
    hundredths = -(-10_000 * part // whole) if up else 10_000 * part // whole
    return f"{hundredths // 100:,}.{hundredths % 100:02d} %"


def effort(result: Result) -> str:
    """How the plan was found."""
    said = f"algorithm {result['algorithm']}, {result['seconds']['total']:.1f} s"
    if result["patterns"]:
        said += f", {counted(result['patterns'], 'pattern')}"
    return said


def heuristics(result: Result) -> str:
    """What the published heuristics reach, if they were tried on the way."""
    tried = [name for name in ("greedy", "mkp") if result[name] is not None]
    if not _whole(result):
        return ""
    said = [f"{name} {value_share(result, result[name])}" for name in tried]
    return others_would("give", said)


def bounds(result: Result) -> str:
    """What no plan can exceed. The paper's bound counts also what fits nowhere."""
    own = with_gap(f"{int(result['bound']):,}", result["gap"])
    paper = with_gap(f"the paper's {int(result['bound_paper']):,}", result["gap_paper"])
    if result["options"]["bound"] == "certified":
        return f"bounds: certified {own}, {paper}"
    if result["bound"] == result["bound_paper"]:
        return f"bound: {paper}"
    return f"bounds: {own} by all that fits, {paper}"


def fleet_label(result: Result) -> str:
    """`10 x 500 + 4 x 200`."""
    return " + ".join(
        f"{kind['count']:,} x {kind['capacity']:,}" for kind in result["types"]
    )


def split(result: Result) -> Iterator[str]:
    """How a total bandwidth was split."""
    total = result["options"].get("total_bandwidth")
    if total is not None:
        yield f"split: {fleet_label(result)}, of {total:,} in all"


def limit(result: Result) -> Iterator[str]:
    """What keeps the plan from delivering more, and what would help."""
    if not result["pairs_wanted"]:
        return
    if result["left_over"]:
        yield f"binding: {_bandwidth(result)}{_more(result)}"
    elif result["left_out"]:
        yield "binding: the size of the brokers: everything that fits on one is served"
    else:
        free = result["bandwidth"] - result["load"]
        yield (
            f"not binding: {free:,} of {result['bandwidth']:,} "
            f"({percent(free / result['bandwidth'])}) of the bandwidth is free"
        )


def cut_short(result: Result) -> Iterator[str]:
    """What kept the search from going on."""
    if result["options"].get("stopped"):
        yield STOPPED
    elif _is_fallback(result):
        yield (
            "brokers are too large for patterns: this is the better of greedy and mkp"
        )


def _is_fallback(result: Result) -> bool:
    searched = result["patterns"] or result["status"] == "optimal"
    return result["algorithm"] == "columns" and not searched


def _whole(result: Result) -> int:
    """What all pairs are worth."""
    weighted: int | None = result["weighted_wanted"]
    whole: int = result["wanted"] if weighted is None else weighted
    return whole


def _who(result: Result) -> str:
    used, number = result["brokers"], result["fleet"]
    everything = result["pairs"] == result["pairs_wanted"]
    of = f"{used:,} of " if everything and used < number else ""
    alone = number == 1 or (of and used == 1)
    return f"{of}{counted(number, 'broker')} deliver{'s' if alone else ''}"


def _delivered(result: Result) -> str:
    """With weights the weighted value comes first, as it is what was asked for."""
    delivered, wanted = result["delivered"], result["wanted"]
    data = f"{share_text(delivered, wanted)} of the data ({delivered:,} of {wanted:,})"
    if result["weighted_wanted"] is None:
        return data
    value, whole = int(result["objective"]), _whole(result)
    share = share_text(value, whole)
    return f"{share} of the weighted value ({value:,} of {whole:,}) and {data}"


def _proven(result: Result) -> str:
    if result["status"] == "optimal":
        return "Proven optimal."
    best = value_share(result, result["bound"], up=True)
    of = "" if result["weighted_wanted"] is None else " of the value"
    return f"Proven best possible: {best}{of}."


def _bandwidth(result: Result) -> str:
    full, number = result["full"], result["fleet"]
    if "total_bandwidth" in result["options"]:
        return f"the total bandwidth, of which {_free(result):,} is free"
    if full == number:
        all_of = "the broker" if number == 1 else f"all {number:,} brokers"
        return f"bandwidth on {all_of}"
    others = "other has" if number - full == 1 else "others have"
    return (
        f"bandwidth on {full:,} of {counted(number, 'broker')}; the {others} room for "
        "pairs that are not served"
    )


def _free(result: Result) -> int:
    free: int = result["options"]["total_bandwidth"] - result["load"]
    return free


def _more(result: Result) -> str:
    if result["more"] is None:
        return ""
    what = "everything that fits" if result["left_out"] else "everything"
    return f"; {result['more']:,} more of this size would carry {what}"


def fill_text(result: Result, report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    return screen(
        answer(result), _numbers(result), ("Plan", result["out"]), ("Report", report)
    )


def _numbers(result: Result) -> Iterator[str]:
    compared = heuristics(result)
    yield effort(result) + (f"     {compared}" if compared else "")
    yield bounds(result)
    yield from split(result)
    yield from limit(result)
    yield from cut_short(result)


def page_of(result: Result) -> Page:
    return Page(
        title=f"Fill for {result['workload']}",
        question="What is the most that this fleet can deliver?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact(
        "Data delivered", f"{result['delivered']:,}", f"of {result['wanted']:,} wanted"
    )
    if result["weighted_wanted"] is not None:
        value = f"{int(result['objective']):,}"
        whole = f"of {result['weighted_wanted']:,}, all that is wanted"
        yield Fact("Weighted value", value, whole)
    if result["options"]["bound"] == "certified":
        yield bound_fact("Certified bound", f"{int(result['bound']):,}", result["gap"])
    paper = f"{int(result['bound_paper']):,}"
    yield bound_fact("The paper's bound", paper, result["gap_paper"])
    yield Fact(
        "Brokers",
        f"{result['brokers']:,}",
        f"carry something, of {result['fleet']:,}: {fleet_label(result)}",
    )
    yield Fact(
        "Load",
        f"{result['load']:,}",
        f"{percent(result['load'] / result['bandwidth'])} of the bandwidth; "
        f"{result['incoming']:,} in, {result['outgoing']:,} out",
    )
    yield Fact(
        "Pairs served",
        f"{result['pairs']:,}",
        f"of {result['pairs_wanted']:,} that are wanted",
    )
    yield _topics(result["details"]["topics"])


def _topics(topics: Result) -> Fact:
    return Fact(
        "Topics served whole",
        f"{topics['whole']:,}",
        f"of {topics['wanted']:,} that are wanted; {topics['part']:,} in part; "
        f"{topics['cut']:,} on several brokers",
    )


def _remarks(result: Result) -> Iterator[Fact]:
    """What limits the plan, what it is compared with, and warnings."""
    for said in limit(result):
        full = f"{result['full']:,} of {result['fleet']:,}"
        yield Fact("Brokers without room for any more pair", full, said)
    if compared := heuristics(result):
        yield Fact(
            "Beside the heuristics", value_share(result, result["objective"]), compared
        )
    for warning in result["warnings"]:
        yield Fact("Warning", f"{result['left_out']:,}", warning)


def _inputs(result: Result) -> list[Fact]:
    options = result["options"]
    found = "; ".join(
        [f"{options['bound']} bound", *_patterns(result), *cut_short(result)]
    )
    facts = [
        Fact("Workload", result["workload"]),
        Fact("Digest of the workload", result["workload_digest"]),
        Fact("Plan", result["out"], result["digest"]),
        Fact("Brokers", fleet_label(result)),
    ]
    if "total_bandwidth" in options:
        most = f"at most {options['max_broker']:,} on one broker"
        facts.append(Fact("Bandwidth", f"{options['total_bandwidth']:,}", most))
    return [
        *facts,
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]


def _patterns(result: Result) -> Iterator[str]:
    if result["patterns"]:
        yield counted(result["patterns"], "pattern")


def plots(result: Result) -> list[Plot]:
    """How good the plan is, how full its brokers are, and what is left out."""
    details = result["details"]
    drawn = [_values(result), _loads(result, details["loads"])]
    if len(details["by_rate"]["low"]) > 1:
        drawn.append(_groups_plot("rate", details["by_rate"], "rate of the topic"))
    by_followers = details["by_followers"]
    return [*drawn, _groups_plot("followers", by_followers, "subscribers of the topic")]


def _values(result: Result) -> Plot:
    """What the plan, the heuristics and the bounds come to."""
    certified = result["options"]["bound"] == "certified"
    bars = [
        ("greedy", result["greedy"], False),
        ("mkp", result["mkp"], False),
        ("this plan", result["objective"], False),
        ("bound", result["bound"] if certified else None, True),
        ("paper's bound", result["bound_paper"], True),
    ]
    whole = _whole(result)
    shown = [(n, int(v), up) for n, v, up in bars if v is not None and whole]
    of = "weighted value" if result["weighted_wanted"] is not None else "data"
    texts = [value_share(result, value, up=up) for _, value, up in shown]
    names = [name for name, _, _ in shown]
    return Plot(
        "What is delivered, and what could be",
        f"In percent of the {of} that is wanted. No plan can exceed a bound.",
        Axis("", False, names),
        Axis(f"% of the {of}", False),
        [
            Series(
                of,
                range(len(shown)),
                [100 * value / whole for _, value, _ in shown],
                [f"{name}: {text}" for name, text in zip(names, texts, strict=True)],
                "bar",
                0,
            )
        ],
        [
            Table(
                "Values and bounds",
                ("", "value", f"of the {of}"),
                [
                    (name, f"{value:,}", text)
                    for (name, value, _), text in zip(shown, texts, strict=True)
                ],
            )
        ],
    )


def _loads(result: Result, loads: Result) -> Plot:
    unused = result["fleet"] - loads["brokers"]
    rest = f" {counted(unused, 'broker')} more of the fleet carry nothing."
    return load_plot(loads, rest if unused else "")


def _groups_plot(name: str, groups: Result, title: str) -> Plot:
    """Data delivered and not, by a number that topics have."""
    labels = [_range(*ends) for ends in zip(groups["low"], groups["high"], strict=True)]
    rows = list(zip(labels, groups["wanted"], groups["delivered"], strict=True))
    texts = [f"{label}: {share_text(d, w)} of {w:,} delivered" for label, w, d in rows]
    places = range(len(rows))
    return Plot(
        f"What is delivered, by {title}",
        "The data that is wanted of all topics: what is delivered, and what is not.",
        Axis(title, False, labels),
        Axis("data, messages a period", False),
        [
            Series("delivered", places, [d for _, _, d in rows], texts, "bar", 0),
            Series(
                "not delivered", places, [w - d for _, w, d in rows], texts, "bar", 1
            ),
        ]
        if rows
        else [],
        [
            Table(
                f"By {name}",
                (name, "topics", "wanted", "delivered", "share"),
                [
                    (label, f"{topics:,}", f"{w:,}", f"{d:,}", percent(d / w))
                    for topics, (label, w, d) in zip(
                        groups["topics"], rows, strict=True
                    )
                ],
            )
        ],
        stacked=True,
    )


def _range(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,}\N{EN DASH}{high:,}"
