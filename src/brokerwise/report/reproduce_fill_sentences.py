"""What the numbers of `reproduce fill` say, in words."""

from collections.abc import Callable, Iterator, Sequence
from statistics import mean, median

from brokerwise.report.html import Table
from brokerwise.report.numbers import counted, significant
from brokerwise.report.reproduce_fill_cells import (
    HOMOGENEOUS,
    MEANT,
    PAPER_INSTANCES,
    PRINTED,
    Result,
    cell_of,
    cells_of,
    certified,
)


def answer(result: Result) -> str:
    """The result in a sentence or two."""
    cells = list(certified(result, small=True))
    if not cells:
        return "No small instance was run."
    ours = [cell["columns"] for cell in cells]
    number = sum(found["instances"] for found in ours)
    slowest = max(found["worst_seconds"] for found in ours)
    text = (
        f"Of {counted(number, 'instance')}, {sum(f['optimal'] for f in ours):,} are "
        f"proven optimal and {sum(f['within'] for f in ours):,} proven within 0.1 % or "
        f"2 rate units of the best, in at most {significant(slowest)} s each."
    )
    # The paper has one LowVariance, which two readings here stand for.
    tried = [
        cell["published"]["solved"]
        for cell in cells
        if cell["published"]["solved"] is not None and cell["distribution"] != MEANT
    ]
    if not tried:
        return text
    number = PAPER_INSTANCES * len(tried)
    return (
        f"{text} The paper's ILP solved {sum(tried):,} of {number:,} such instances "
        "within an hour each on 24 cores, and was not tried on the others."
    )


def agreement(result: Result) -> str:
    """How much of Tables III and IV is as it should be."""
    found = [held for c in result["cells"] for held in (c["checks"] or {}).values()]
    if not found:
        return ""
    text = (
        f"Tables III and IV: {sum(found)} of {counted(len(found), 'comparison')} hold "
        "(GS and MKPBS within 0.3 points, columns within two standard errors of their "
        "ILP, MKPBS ahead of GS where it is in the paper)."
    )
    text += "".join(f" {said}" for said in (_above(result), _reversed(result)) if said)
    if result["instances"] < PAPER_INSTANCES:
        instances = counted(result["instances"], "instance")
        text += f" With {instances}, not 50, one may fail by chance."
    return text


def _above(result: Result) -> str:
    """Where our GS is not where theirs is."""
    quoted = [c for c in result["cells"] if c["published"]["received"]]
    off = [
        cell["greedy"]["percent"] - cell["published"]["received"]["gs"]
        for cell in quoted
        if not cell["checks"]["gs"]
    ]
    if not off:
        return ""
    above = [points for points in off if points > 0]
    said = f"Our GS (greedy) is not theirs: in {len(off)} of {len(quoted)} it "
    if len(above) == len(off):
        return f"{said}delivers {min(off):.2f} to {max(off):.2f} points more."
    return f"{said}is {min(off):+.2f} to {max(off):+.2f} points away."


def _reversed(result: Result) -> str:
    """Where our GS delivers more than our MKPBS, in tables and figures alike."""
    behind = [
        (cell["greedy"]["percent"] - cell["mkp"]["percent"], cell)
        for cell in result["cells"]
        if cell["greedy"]["percent"] > cell["mkp"]["percent"]
    ]
    if not behind:
        return ""
    points, worst = max(behind, key=lambda found: found[0])
    return (
        "The order is the other way round, GS ahead of MKPBS, in "
        f"{len(behind)} of all {counted(len(result['cells']), 'setting')}, by up to "
        f"{points:.2f} points ({worst['distribution']}, {worst['topics']:,} topics, "
        f"b = {worst['capacity']}, M = {worst['brokers']})."
    )


def readings(result: Result) -> str:
    """Which reading of LowVariance fits the paper; empty if both were not run."""
    common = {"small": True, "topics": 100, "capacity": 500}
    for brokers in sorted({c["brokers"] for c in cells_of(result, **common)}):
        even, printed, meant = (
            cell_of(result, **common, brokers=brokers, distribution=title)
            for title in (HOMOGENEOUS, PRINTED, MEANT)
        )
        if even and printed and meant:
            values = [cell["mkp"]["percent"] for cell in (even, printed, meant)]
            return _reading(brokers, *values)
    return ""


def _reading(brokers: int, even: float, printed: float, meant: float) -> str:
    text = (
        "LowVariance: the paper prints rates of 8 to 19, and says (Figure 4) that the "
        "distribution does not matter. With 8 to 19 mkp "
        f"delivers {printed:.1f} % where Homogeneous gives {even:.1f} % (100 topics, "
        f"b = 500, M = {brokers}); with 8 to 12 it is {meant:.1f} %."
    )
    if abs(meant - even) < abs(printed - even):
        text += " So 8 to 12 was probably meant; both are shown."
    return text


def claims_table(result: Result) -> Table:
    """What the paper's text says of its figures, beside ours."""
    found = ((says, ours(result)) for says, ours in _CLAIMS.items())
    rows = [(says, ours) for says, ours in found if ours]
    return Table("What the paper says of its figures", ("paper", "ours"), rows)


def _fast(result: Result) -> str:
    worst = (
        f"{name} {significant(max(c[name]['ms'] for c in cells))} ms"
        for cells in [cells_of(result, small=True)]
        for name in ("greedy", "mkp")
        if cells
    )
    text = ", ".join(worst)
    return f"the slowest settings on average: {text}" if text else ""


def _faster(result: Result) -> str:
    """In how many settings GS is, and how the times compare."""
    cells = [c for c in result["cells"] if c["greedy"]["ms"] and c["mkp"]["ms"]]
    if not cells:
        return ""
    ratios = sorted(cell["mkp"]["ms"] / cell["greedy"]["ms"] for cell in cells)
    faster = sum(ratio > 1 for ratio in ratios)
    answer = "so" if faster == len(cells) else "not so"
    return (
        f"{answer}: greedy is in {faster} of {counted(len(cells), 'setting')}; mkp "
        f"takes {significant(ratios[0])} to {significant(ratios[-1])} times as long, "
        f"{significant(median(ratios))} in the middle"
    )


def _proportional(result: Result) -> str:
    ratios = []
    for brokers in (10, 15):
        common = {"small": True, "topics": 1000, "brokers": brokers}
        wide, narrow = (
            cell_of(result, **common, distribution=HOMOGENEOUS, capacity=capacity)
            for capacity in (500, 200)
        )
        if wide and narrow:
            ratio = wide["mkp"]["percent"] / narrow["mkp"]["percent"]
            ratios.append(f"{ratio:.2f} times (M = {brokers})")
    return ", ".join(ratios)


def _ahead(topics: int) -> Callable[[Result], str]:
    def of(result: Result) -> str:
        cells = cells_of(result, small=False, topics=topics, distribution=HOMOGENEOUS)
        ahead = [c["mkp"]["percent"] - c["greedy"]["percent"] for c in cells]
        if not ahead:
            return ""
        return f"{min(ahead):.3f} to {max(ahead):.3f} points"

    return of


def _slower(topics: int, capacity: int) -> Callable[[Result], str]:
    """How many times longer instances take that are ten times as large."""

    def of(result: Result) -> str:
        small = cells_of(result, small=True, topics=topics, capacity=capacity)
        large = cells_of(
            result, small=False, topics=10 * topics, capacity=10 * capacity
        )
        if not small or not large:
            return ""
        return ", ".join(
            f"{name} {significant(_ms(large, name) / _ms(small, name))} times"
            for name in ("greedy", "mkp")
        )

    return of


def _ms(cells: Sequence[Result], name: str) -> float:
    return max(1e-6, mean(float(cell[name]["ms"]) for cell in cells))


_CLAIMS: dict[str, Callable[[Result], str]] = {
    "500 pairs: both heuristics take below 1 ms on average": _fast,
    "GS is faster than MKPBS": _faster,
    "1,000 topics, M = 10 and 15: b = 200 gives about 2.5 times less than b = 500": (
        _proportional
    ),
    "Figure 10: MKPBS is ahead of GS by less than 0.1 %": _ahead(1000),
    "10,000 topics: it is ahead by around 0.2 %": _ahead(10_000),
    "Figure 11 against 7: about 100 times the time": _slower(100, 500),
    "Figure 12 against 8: less than 100 times": _slower(1000, 500),
    "Figure 13 against 9: about 100 times": _slower(100, 200),
}


def verdict(result: Result) -> str:
    """What was checked, and what is not there."""
    cells = result["cells"]
    plans = sum(
        2 * c["instances"] + (c["columns"] or {"instances": 0})["instances"]
        for c in cells
    )
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    return " ".join(
        [
            f"{counted(plans, 'filling')} counted again: {checks} (capacities, pairs "
            "that exist, values, none above its bound, columns at least greedy and "
            "mkp).",
            *_missing(result),
        ]
    )


def _missing(result: Result) -> Iterator[str]:
    if result["cells_missing"]:
        cells = counted(result["cells_missing"], "setting")
        yield f"Not complete: {cells} not run yet; the same command goes on."
    if result["cells_of_other_code"]:
        kept = counted(result["cells_of_other_code"], "setting")
        yield f"{kept} kept from earlier code; --force computes all again."
