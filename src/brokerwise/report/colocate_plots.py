"""The plots of a plan of kind colocate, from a result with its details."""

from collections.abc import Iterator

from brokerwise.report.colocate_sentences import Result
from brokerwise.report.html import Table
from brokerwise.report.numbers import percent, significant
from brokerwise.report.plots import Axis, Plot, Series


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
    less = [f"{allowed:g} % of the target"] * 2
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
        Series("target", ends, [100, 100], ["target"] * 2, "line", 1),
        Series("target less margin", ends, [allowed] * 2, less, "line", 1, True),
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
