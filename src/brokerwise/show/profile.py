"""The report of a profile, from the JSON that `brokerwise profile --json` prints."""

from brokerwise.show.numbers import counted, duration, percent, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import Result, how_to_repeat
from brokerwise.show.tables import Fact, Table

_SHARE = Axis("share with more, P(X > x)")
_BEFORE_FIRST = 1.5  # how far left of its first value a curve begins, as a factor


def page_of(result: Result) -> Page:
    return Page(
        title=f"Profile of {result['workload']}",
        question="What does this workload look like?",
        answer=answer(result),
        facts=_facts(result),
        tables=[quantile_table(result)],
        plots=_plots(result),
        inputs=_inputs(result),
        data=result,
    )


def answer(result: Result) -> str:
    """The workload in a sentence."""
    subscribers = counted(result["subscribers"], "subscriber")
    topics, pairs = counted(result["topics"], "topic"), counted(result["pairs"], "pair")
    if not result["pairs"]:
        return f"Nobody wants anything: {topics}, {subscribers}, {pairs}."
    verb = "wants" if result["subscribers"] == 1 else "want"
    out = "bytes delivered" if unit(result) == "byte" else "deliveries"
    return (
        f"{subscribers} {verb} {topics} in {pairs}: "
        f"{duration(result['period_seconds'])} bring "
        f"{counted(result['rate']['total'], unit(result))} and "
        f"{result['outgoing']:,} {out} "
        f"({significant(result['outgoing_mbit_s'])} Mbit/s)."
    )


def quantile_table(result: Result) -> Table:
    """The numbers that people ask for first."""
    rows = [
        ("followers per topic", result["followers"]),
        ("followings per subscriber", result["followings"]),
        ("rate per topic", result["rate"]),
        ("received per subscriber", result["received"]),
    ]
    names = ("p50", "p90", "p99", "max")
    return Table(
        f"Quantiles; rate and received are {unit(result)}s in "
        f"{duration(result['period_seconds'])}",
        ("", *names, "mean"),
        [
            (label, *(f"{d[name]:,}" for name in names), significant(d["mean"]))
            for label, d in rows
        ],
    )


def unit(result: Result) -> str:
    """What rates count: a message of one byte is a byte."""
    return "byte" if result["message_bytes"] == 1 else "message"


def _facts(result: Result) -> list[Fact]:
    idle = f"{result['topics_without_subscribers']:,} without a subscriber"
    alone = f"{result['subscribers_without_topics']:,} without a topic"

    def volume(messages: int, mbit_s: float) -> tuple[str, str]:
        return f"{messages:,}", f"{unit(result)}s, {significant(mbit_s)} Mbit/s"

    published = volume(result["rate"]["total"], result["published_mbit_s"])
    delivered = volume(result["outgoing"], result["outgoing_mbit_s"])
    load = volume(result["load"], result["load_mbit_s"])
    return [
        Fact("Topics", f"{result['topics']:,}", idle),
        Fact("Subscribers", f"{result['subscribers']:,}", alone),
        Fact("Pairs", f"{result['pairs']:,}"),
        Fact(
            "Period",
            duration(result["period_seconds"]),
            f"messages of {counted(result['message_bytes'], 'byte')}",
        ),
        Fact("Published", *published),
        Fact("Delivered to everybody", *delivered),
        Fact("Load if one broker served all", *load),
        Fact(
            "Largest subscriber receives",
            percent(result["subscription_cardinality"]["max"] / 100),
            "of all that is published",
        ),
    ]


def _inputs(result: Result) -> list[Fact]:
    return [
        Fact("Workload", result["workload"]),
        Fact("Digest of the workload", result["digest"]),
        *how_to_repeat(result),
    ]


def _plots(result: Result) -> list[Plot]:
    return [
        _follows_plot(result),
        _rate_plot(result),
        _rate_by_followers_plot(result),
        _cardinality_plot(result),
        _cardinality_by_followings_plot(result),
    ]


def _follows_plot(result: Result) -> Plot:
    drawn = (
        ("followers", result["followers"], "topics"),
        ("followings", result["followings"], "subscribers"),
    )
    return Plot(
        "Followers and followings",
        "The share of topics that more than x subscribers want, and of subscribers "
        "that want more than x topics.",
        Axis("followers or followings"),
        _SHARE,
        [ccdf_series(*each) for each in drawn],
        [ccdf_table(*each) for each in drawn],
    )


def _rate_plot(result: Result) -> Plot:
    drawn = (f"{unit(result)}s", result["rate"], "topics")
    return Plot(
        "Rate of topics",
        f"The share of topics with more than x {_per_period(result)}.",
        Axis(_per_period(result)),
        _SHARE,
        [ccdf_series(*drawn)],
        [ccdf_table(*drawn)],
    )


def _rate_by_followers_plot(result: Result) -> Plot:
    means, noun = result["mean_rate_by_followers"], f"{unit(result)}s"
    return Plot(
        "Mean rate by followers",
        "Each point is the mean rate of the topics with so many followers.",
        Axis("followers of a topic"),
        Axis(f"mean {_per_period(result)}"),
        [means_series(means, ("topic", "follower", f" {noun}"))],
        [means_table(means, ("followers", "topics", f"mean {noun}"))],
    )


def _cardinality_plot(result: Result) -> Plot:
    drawn = ("%", result["subscription_cardinality"], "subscribers")
    return Plot(
        "Subscription cardinality",
        "The share of subscribers that would receive more than x % of all "
        f"{unit(result)}s published.",
        Axis(f"received, % of all {unit(result)}s"),
        _SHARE,
        [ccdf_series(*drawn)],
        [ccdf_table(*drawn)],
    )


def _cardinality_by_followings_plot(result: Result) -> Plot:
    means = result["mean_cardinality_by_followings"]
    return Plot(
        "Mean subscription cardinality by followings",
        "Each point is the mean share of all that is published which subscribers "
        "with so many topics receive.",
        Axis("followings of a subscriber"),
        Axis("mean received, %"),
        [means_series(means, ("subscriber", "following", " %"))],
        [means_table(means, ("followings", "subscribers", "mean %"))],
    )


def _per_period(result: Result) -> str:
    return f"{unit(result)}s in {duration(result['period_seconds'])}"


def ccdf_series(name: str, distribution: Result, population: str) -> Series:
    """P(X > x) as a step curve.

    It begins left of the first value, where the share is still what it was, and
    ends at the largest, beyond which it is zero: so also a population in which all
    are equal shows a line.
    """
    ccdf, total = distribution["ccdf"], distribution["population"]
    points = list(zip(ccdf["values"], ccdf["above"], ccdf["shares"], strict=True))
    any_at_all = next((share for value, _, share in points if value == 0), 1.0)
    points = [point for point in points if point[0] > 0]
    if not points:
        return Series(name, (), (), (), "step")
    first, last = points[0][0], points[-1][0]
    shares = [any_at_all, *(share for _, _, share in points[:-1])]
    hover = [f"{percent(any_at_all)} of {population} have any"]
    for value, above, share in points[:-1]:
        hover.append(
            f"{percent(share)} of {population} ({above:,} of {total:,}) "
            f"have more than {_exact(value)} {name}"
        )
    return Series(
        name,
        [first / _BEFORE_FIRST, *(value for value, _, _ in points)],
        [*shares, shares[-1]],
        [*hover, f"the largest: {_exact(last)} {name}"],
        "step",
    )


def ccdf_table(name: str, distribution: Result, population: str) -> Table:
    ccdf = distribution["ccdf"]
    return Table(
        f"{population.capitalize()} with more {name} than",
        (name, population, "share"),
        [
            (_exact(value), f"{above:,}", percent(share))
            for value, above, share in zip(
                ccdf["values"], ccdf["above"], ccdf["shares"], strict=True
            )
        ],
    )


def means_series(means: Result, words: tuple[str, str, str]) -> Series:
    """Means as points; a run of values is drawn at its geometric middle."""
    member, noun, suffix = words
    rows = _means_rows(means)
    return Series(
        f"mean by {noun}s",
        [(low * high) ** 0.5 for low, high, _, _ in rows],
        [mean for _, _, _, mean in rows],
        [
            f"{counted(count, member)} with {_span(low, high)} {noun}s: "
            f"mean {significant(mean)}{suffix}"
            for low, high, count, mean in rows
        ],
    )


def means_table(means: Result, columns: tuple[str, str, str]) -> Table:
    return Table(
        f"{columns[2].capitalize()} by {columns[0]}",
        columns,
        [
            (_span(low, high), f"{count:,}", significant(mean))
            for low, high, count, mean in _means_rows(means)
        ],
    )


def _means_rows(means: Result) -> list[tuple[int, int, int, float]]:
    names = ("low", "high", "members", "means")
    return list(zip(*(means[name] for name in names), strict=True))


def _span(low: int, high: int) -> str:
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _exact(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else significant(value)
