"""What results of all kinds have in common, as data and in words."""

from collections.abc import Iterable, Iterator, Mapping
from math import isfinite
from typing import Any

from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.show.numbers import percent_up
from brokerwise.show.tables import Fact

Result = Mapping[str, Any]
"""What a command prints with `--json`, or a part of it."""

STOPPED = "the search was stopped by --seconds: another run may end elsewhere"


def finite(figure: Any) -> Any:
    """JSON has no infinity: a gap or a ratio to nothing is null."""
    return None if isinstance(figure, float) and not isfinite(figure) else figure


def is_plan(result: Result) -> bool:
    return result["status"] not in WITHOUT_PLAN


_LEAST_SHOWN = 1e-5  # what is less is not worth its digits


def no_cheaper(what: str, result: Result) -> str:
    """The gap in words: what the objective could be lower by, as a share of it."""
    least = max(result["gap"], _LEAST_SHOWN)
    return f"no {what} is more than {percent_up(least)} cheaper"


def gap_text(gap: float | None) -> str:
    """A gap in percent, rounded up as in `no_cheaper`; below a thousandth of one it is
    not worth its digits."""
    if gap is None:
        return "unknown"
    return "< 0.001 %" if 0 < gap < _LEAST_SHOWN else percent_up(gap)


def screen(answer: str, lines: Iterable[str], *written: tuple[str, object]) -> str:
    """What a command says: one sentence, the numbers that carry it, and what it wrote
    where, if it did."""
    places = [f"{what}: {place}" for what, place in written if place is not None]
    return "\n".join([answer, *(f"  {line}" for line in lines), *places])


def how_to_repeat(result: Result) -> Iterator[Fact]:
    """How a result was made, at the end of its report: the command, the version that
    ran it, and how long it took."""
    yield Fact("Command", result["command"])
    yield Fact("Brokerwise", result["version"])
    if "seconds" in result:
        stages = [f"{name} {value:.1f} s" for name, value in result["seconds"].items()]
        yield Fact("Time", ", ".join(stages))
