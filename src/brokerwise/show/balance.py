"""A simulated run of a balancer in words and as a report, from what
`brokerwise simulate balance --json` prints."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from brokerwise.show.numbers import counted, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series, level
from brokerwise.show.results import Result, gap_text, how_to_repeat, screen, with_gap
from brokerwise.show.tables import Fact, Table

_UNITS = ("B/s", "kB/s", "MB/s", "GB/s", "TB/s")


def byte_rate(bytes_per_second: float) -> str:
    """`412 MB/s`: three digits that matter."""
    power, value = 0, bytes_per_second
    while float(f"{value:.3g}") >= 1000 and power < len(_UNITS) - 1:
        power, value = power + 1, value / 1000
    return f"{significant(value)} {_UNITS[power]}"


def answer(result: Result) -> str:
    """The run in a sentence: how even it was, and for how many moves."""
    even = f"cov is {_cov(result['cov'])} on average"
    if result["policy"] == "none":
        return f"{_who(result)}: nobody moves, and {even}."
    if not result["moves"]:
        return f"{_who(result)}: {result['policy']} moves nobody, and {even}."
    said = f"{_who(result)}: with {counted(result['moves'], 'move')} of "
    said += f"{result['policy']} {even}"
    without = result["without"]
    if without is not None:
        said += f", without balancing {_cov(without['cov'])}"
    return f"{said}."


def numbers(result: Result) -> Iterator[str]:
    """Loads and moves, beside those of a fleet that is left alone."""
    without = result["without"]
    most = byte_rate(result["max_load"])
    beside = f", without balancing {byte_rate(without['max_load'])}" if without else ""
    yield f"max load {most} on average{beside}"
    end = f"at the end {byte_rate(result['max_load_end'])}"
    mean = byte_rate(result["mean_load_end"])
    yield f"{end}, with a mean of {mean}: cov {_cov(result['cov_end'])}"
    if result["moves"]:
        yield moves(result)


def moves(result: Result) -> str:
    count, users = result["moves"], result["moved_users"]
    said = f"{counted(count, 'move')} in {counted(result['decisions'], 'decision')}"
    if users == count:
        return f"{said}, each of another user"
    least = result["seconds_between_moves"]
    return (
        f"{said}, of {counted(users, 'user')}; nobody moved twice within "
        f"{significant(least)} s"
    )


def limits(result: Result) -> Iterator[str]:
    """What keeps loads from being lower, and why nobody moves now."""
    yield bound(result)
    if result["balancer_status"]:
        yield f"balancer at the end: {result['balancer_status']}"


def bound(result: Result) -> str:
    """How far from the best possible, and what it is that costs."""
    said = with_gap(f"bound {byte_rate(result['bound'])}", result["gap"])
    if result["spread"] <= 1:
        return said
    return (
        f"{said}: it counts each topic as coming to 1 broker, here it comes to "
        f"{significant(result['spread'])} of {result['brokers']:,} on average"
    )


def time_of(seconds: float) -> str:
    """`4:10`: minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"


def _who(result: Result) -> str:
    brokers, users = result["brokers"], result["subscribers"]
    return (
        f"{counted(brokers, 'broker')}, {counted(users, 'subscriber')}, "
        f"{counted_minutes(result['minutes'])}, placed {_placed(result)}"
    )


def _placed(result: Result) -> str:
    placement: str = result["placement"]
    return "at random" if placement == "random" else placement


def counted_minutes(minutes: float) -> str:
    return f"{minutes:g} minute{'' if minutes == 1 else 's'}"


def _cov(cov: float) -> str:
    return f"{cov:.3f}"


def balance_text(result: Result, report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    lines = (
        *numbers(result),
        *limits(result),
        f"simulated in {result['seconds']['total']:.1f} s",
    )
    return screen(answer(result), lines, ("Report", report))


def page_of(result: Result) -> Page:
    return Page(
        title=f"Balancing by {result['policy']}, simulated",
        question="How even do loads stay, and for how many moves?",
        answer=answer(result),
        facts=list(_facts(result)),
        tables=list(tables(result)),
        plots=plots(result),
        inputs=list(_inputs(result)),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    without = result["without"]
    beside = f"without balancing {without['cov']:.3f}" if without else ""
    yield Fact("cov, on average", f"{result['cov']:.3f}", beside)
    yield Fact("cov at the end", f"{result['cov_end']:.3f}")
    beside = f"without balancing {byte_rate(without['max_load'])}" if without else ""
    yield Fact("Max load, on average", byte_rate(result["max_load"]), beside)
    yield Fact(
        "Max load at the end",
        byte_rate(result["max_load_end"]),
        f"with a mean of {byte_rate(result['mean_load_end'])}",
    )
    said = moves(result) if result["moves"] else ""
    yield Fact("Moves", f"{result['moves']:,}", said)
    yield Fact("Gap to the bound", gap_text(result["gap"]), bound(result))
    yield Fact("Brokers", f"{result['brokers']:,}")
    yield Fact(
        "Subscribers",
        f"{result['subscribers']:,}",
        f"with {result['pairs']:,} subscriptions to {result['topics']:,} topics at the "
        "end",
    )


def tables(result: Result) -> Iterator[Table]:
    """Brokers at both ends of the run, and what the balancer thought."""
    details = result["details"]
    yield Table(
        "Sessions and loads of the brokers",
        ("broker", "sessions at the start", "sessions at the end", "load at the end"),
        [
            (f"{broker}", f"{begin:,}", f"{end:,}", byte_rate(load[-1]))
            for broker, (begin, end, load) in enumerate(
                zip(
                    details["sessions_begin"],
                    details["sessions_end"],
                    details["loads"],
                    strict=True,
                )
            )
        ],
    )
    if details["decisions"]:
        yield Table(
            "What the balancer decided and why",
            ("reason", "time", "moves"),
            [
                (told["reason"], time_of(told["at"]), f"{told['moves']:,}")
                for told in details["decisions"]
            ],
        )


def _inputs(result: Result) -> Iterator[Fact]:
    options = result["options"]
    yield Fact("World", result["world"], f"seed {result['seed']}")
    yield Fact("Placement", result["placement"])
    settings = ", ".join(f"{k} {v}" for k, v in options.items() if v is not None)
    yield Fact("Policy", result["policy"], settings)
    yield from how_to_repeat(result)


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
            level("alpha", alpha, ends, f"alpha {alpha:g}", 1),
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
