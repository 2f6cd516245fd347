"""A simulated run in words: on the screen and in reports alike.

A result is what `brokerwise simulate balance --json` prints.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from brokerwise.report.numbers import counted, significant
from brokerwise.report.provision_sentences import gap_text

Result = Mapping[str, Any]

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
    if result["mind"]:
        yield f"balancer at the end: {result['mind']}"


def bound(result: Result) -> str:
    """How far from the best possible, and what it is that costs."""
    said = f"bound {byte_rate(result['bound'])} (gap {gap_text(result['gap'])})"
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
