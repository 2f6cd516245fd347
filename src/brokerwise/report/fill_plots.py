"""The plots of a plan of kind fill, from a result with its details."""

from brokerwise.report.fill_sentences import Result, share_text, value_share
from brokerwise.report.html import Table
from brokerwise.report.loads import load_plot
from brokerwise.report.numbers import counted, percent
from brokerwise.report.plots import Axis, Plot, Series


def plots(result: Result) -> list[Plot]:
    """How good the plan is, how full its brokers are, and what is left out."""
    details = result["details"]
    drawn = [_values(result), _loads(result, details["loads"])]
    if len(details["by_rate"]["low"]) > 1:
        drawn.append(_groups("rate", details["by_rate"], "rate of the topic"))
    by_followers = details["by_followers"]
    return [*drawn, _groups("followers", by_followers, "subscribers of the topic")]


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
    whole = result["weighted_wanted"]
    whole = result["wanted"] if whole is None else whole
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


def _groups(name: str, groups: Result, title: str) -> Plot:
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
