"""The plots of a simulated run, from a result with its details."""

from collections.abc import Sequence

from brokerwise.report.balance_sentences import Result, byte_rate, time_of
from brokerwise.report.html import Table
from brokerwise.report.numbers import counted
from brokerwise.report.plots import Axis, Plot, Series

_LINES = 20  # brokers that have a line each
_ROWS = 61  # of a table over time
_SHORT = 3.0  # minutes, below which time is shown in seconds


def plots(result: Result) -> list[Plot]:
    """Loads, cov and moves over time."""
    return [loads_plot(result), cov_plot(result), moves_plot(result)]


def loads_plot(result: Result) -> Plot:
    """One line a broker with the mean, moves as ticks under them."""
    details = _shown_times(result["details"])
    unit, size = load_unit(details["loads"])
    shown = _shown(details["loads"])
    lines = [
        _line(f"broker {broker}", details, details["loads"][broker], size)
        for broker in shown
    ]
    mean = _line("mean", details, details["mean"], size, dashed=True)
    ticks = _ticks(details)
    every = len(shown) == len(details["loads"])
    only = "" if every else f" Of {len(details['loads']):,} brokers some are drawn."
    return Plot(
        "Load of the brokers over time",
        "What each broker takes in and gives out. Marks at the bottom are times at "
        f"which sessions were told to move.{only}",
        Axis(details["unit"], False),
        Axis(f"load, {unit}", False),
        [*lines, mean, *([ticks] if len(ticks.x) else [])],
        [_loads_table(details, shown)],
        wide=True,
    )


def cov_plot(result: Result) -> Plot:
    details, alpha = _shown_times(result["details"]), result["options"]["alpha"]
    times = details["times"]
    ends = [times[0], times[-1]]
    texts = [
        f"{time_of(60 * at)}: cov {cov:.3f}"
        for at, cov in zip(details["minutes"], details["cov"], strict=True)
    ]
    every = _every(times)
    return Plot(
        "How uneven loads are",
        "cov, the standard deviation of the loads over their mean. Sessions move only "
        "while it is above alpha.",
        Axis(details["unit"], False),
        Axis("cov", False),
        [
            Series("cov", times, details["cov"], texts, "line", 0),
            Series(
                "alpha", ends, [alpha] * 2, [f"alpha {alpha:g}"] * 2, "line", 1, True
            ),
        ],
        [
            Table(
                "cov over time",
                (details["unit"], "cov"),
                [(f"{times[i]:g}", f"{details['cov'][i]:.3f}") for i in every],
            )
        ],
    )


def moves_plot(result: Result) -> Plot:
    details = _shown_times(result["details"])
    rows = _moves(details)
    return Plot(
        "Moves",
        "How many sessions were told to move, and when.",
        Axis(details["unit"], False),
        Axis("sessions", False),
        [
            Series(
                "moves",
                [time for time, _, _ in rows],
                [moves for _, moves, _ in rows],
                [text for _, _, text in rows],
                "bar",
                0,
            )
        ]
        if rows
        else [],
        [
            Table(
                "Moves over time",
                (details["unit"], "moves"),
                [(f"{time:g}", f"{moves:,}") for time, moves, _ in rows],
            )
        ],
    )


def _line(
    name: str,
    details: Result,
    loads: Sequence[float],
    size: float,
    *,
    dashed: bool = False,
) -> Series:
    texts = [
        f"{name}, {time_of(60 * at)}: {byte_rate(load)}"
        for at, load in zip(details["minutes"], loads, strict=True)
    ]
    return Series(
        name,
        details["times"],
        [load / size for load in loads],
        texts,
        "line",
        0 if dashed else None,
        dashed,
    )


def _ticks(details: Result) -> Series:
    rows = _moves(details)
    return Series(
        "moves",
        [time for time, _, _ in rows],
        [0.0] * len(rows),
        [text for _, _, text in rows],
        "points",
        1,
    )


def _moves(details: Result) -> list[tuple[float, int, str]]:
    """When sessions were told to move, how many, and that in words."""
    return [
        (time, moves, f"{time_of(60 * minute)}: {counted(moves, 'move')}")
        for time, minute, moves in zip(
            details["times"], details["minutes"], details["moves"], strict=True
        )
        if moves
    ]


def _shown_times(details: Result) -> Result:
    """With `times` in a `unit` that suits how long it took."""
    minutes = details["minutes"]
    if minutes[-1] >= _SHORT:
        return {**details, "unit": "minutes", "times": minutes}
    seconds = [round(60 * minute, 1) for minute in minutes]
    return {**details, "unit": "seconds", "times": seconds}


def _shown(loads: Sequence[Sequence[float]]) -> list[int]:
    """All brokers; of many those that were fullest and emptiest over time."""
    if len(loads) <= _LINES:
        return list(range(len(loads)))
    order = sorted(range(len(loads)), key=lambda broker: -sum(loads[broker]))
    return sorted([*order[: _LINES // 2], *order[-_LINES // 2 :]])


def load_unit(loads: Sequence[Sequence[float]]) -> tuple[str, float]:
    """One for the whole plot."""
    most = max((max(line, default=0) for line in loads), default=0)
    for unit, size in (("GB/s", 1e9), ("MB/s", 1e6), ("kB/s", 1e3)):
        if most >= size:
            return unit, size
    return "B/s", 1.0


def _loads_table(details: Result, shown: Sequence[int]) -> Table:
    times = details["times"]
    return Table(
        "Loads over time",
        (details["unit"], "mean", *(f"broker {broker}" for broker in shown)),
        [
            (
                f"{times[i]:g}",
                byte_rate(details["mean"][i]),
                *(byte_rate(details["loads"][broker][i]) for broker in shown),
            )
            for i in _every(times)
        ],
    )


def _every(times: Sequence[float]) -> list[int]:
    """So many of the times that a table stays readable, the last among them."""
    step = max(1, -(-len(times) // _ROWS))
    last = len(times) - 1
    return sorted({*range(0, len(times), step), last})
