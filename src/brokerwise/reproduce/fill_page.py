"""What is said of `reproduce fill`: Tables I to IV and Figures 2 to 13."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean, median
from typing import Any

from brokerwise.reproduce.account import (
    NONE,
    Account,
    Block,
    Result,
    Said,
    Section,
    counted_if,
    filled,
    matching,
    series,
    table,
    verdict,
)
from brokerwise.reproduce.fill_settings import (
    DISTRIBUTIONS,
    HOMOGENEOUS,
    INSTANCES,
    LOW_MEANT,
    LOW_PRINTED,
)
from brokerwise.show.numbers import counted, significant
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.tables import Fact, Table

_EVEN = HOMOGENEOUS.title
_PRINTED, _MEANT = LOW_PRINTED.title, LOW_MEANT.title
"""Two readings of one distribution: as the paper prints it, and as it seems to be."""
SMALL_TOPICS = {100: "Table I", 1000: "Table II"}
PAPER_NAMES = {"columns": "ILP", "greedy": "GS", "mkp": "MKPBS"}
"""Our algorithms, and the paper's that they stand beside."""


def cells_of(result: Result, **wanted: Any) -> list[Result]:
    """The cells with these fields, by number of brokers."""
    found = matching(result["cells"], **wanted)
    return sorted(found, key=lambda cell: cell["brokers"])


def cell_of(result: Result, **wanted: Any) -> Result | None:
    """The cell with these fields, if it was run."""
    found = cells_of(result, **wanted)
    return found[0] if found else None


def distributions(result: Result) -> list[str]:
    """Those that were run, by how much rates differ."""
    known = {cell["distribution"] for cell in result["cells"]}
    return [one.title for one in DISTRIBUTIONS if one.title in known]


def certified(result: Result, **wanted: Any) -> Iterator[Result]:
    """Cells that `columns` has filled too."""
    return (c for c in cells_of(result, **wanted) if c["columns"] is not None)


def percents(cell: Result, algorithm: str) -> float | None:
    """What an algorithm delivers; None if it was not run on the whole cell."""
    found = cell[algorithm]
    if algorithm != "columns":
        return float(found["percent"])
    whole = found is not None and found["instances"] == cell["instances"]
    return float(found["percent"]) if whole else None


# Tables I to IV


_NOT_TRIED = "not tried"
_CHECKS = {"columns": "ilp", "greedy": "gs", "mkp": "mkpbs"}
_WANTED = {
    "columns": "within 2 errors",
    "greedy": "within 0.3",
    "mkp": "within 0.3",
}
_RECEIVED = {100: "Table III", 1000: "Table IV"}


def compared(result: Result) -> list[Table]:
    """Tables III and IV, and Tables I and II in short."""
    received = [received_table(result, topics) for topics in SMALL_TOPICS]
    return filled(*received, overview_table(result))


def tables(result: Result) -> list[Table]:
    """All of them, but for figures."""
    solved = [solved_table(result, topics) for topics in SMALL_TOPICS]
    more = readings_table(result), scaled_table(result)
    return filled(*compared(result), *solved, *more)


def received_table(result: Result, topics: int) -> Table:
    """Table III or IV: what is delivered, by algorithm."""
    rows = []
    for cell in cells_of(result, small=True, topics=topics, distribution=_EVEN):
        if cell["published"]["received"] is not None:
            rows += list(_received_rows(cell))
    return Table(
        f"{_RECEIVED[topics]}: {_EVEN}, {topics:,} topics, b = 500; data "
        f"received, % (mean of {result['instances']:,} instances)",
        (
            *("M, algorithm", "paper", "ours", "standard error", "ours - paper"),
            *("wanted", "holds"),
        ),
        rows,
    )


def _received_rows(cell: Result) -> Iterator[Sequence[str]]:
    theirs, checks = cell["published"]["received"], cell["checks"]
    for ours, key in _CHECKS.items():
        if cell[ours] is None:
            continue
        paper, found = theirs[key], cell[ours]["percent"]
        yield (
            f"M = {cell['brokers']}, {PAPER_NAMES[ours]}; {ours}",
            f"{paper:.2f}",
            f"{found:.2f}",
            f"{cell[ours]['error']:.2f}",
            f"{found - paper:+.2f}",
            _WANTED[ours],
            "yes" if checks[key] else "no",
        )


def overview_table(result: Result) -> Table:
    """Tables I and II, a row for all numbers of brokers."""
    rows = []
    for topics, number in SMALL_TOPICS.items():
        for title in distributions(result):
            for capacity in _capacities(result, topics):
                cells = list(
                    certified(
                        result,
                        small=True,
                        topics=topics,
                        distribution=title,
                        capacity=capacity,
                    )
                )
                if cells:
                    name = f"{number}, {title}, b = {capacity}"
                    rows.append((name, *_overview(cells)))
    return Table(
        "Tables I and II in short: instances with a certificate, over all M",
        (
            *("table, distribution, b", "paper: solved in an hour", "ours: optimal"),
            *("within 0.1 % or 2", "worst gap, %", "worst seconds"),
        ),
        rows,
    )


def _overview(cells: Sequence[Result]) -> Iterator[str]:
    tried = [c for c in cells if c["published"]["solved"] is not None]
    solved = sum(c["published"]["solved"] for c in tried)
    ours = [c["columns"] for c in cells]
    number = sum(found["instances"] for found in ours)
    yield f"{solved:,} of {INSTANCES * len(tried):,}" if tried else _NOT_TRIED
    yield f"{sum(found['optimal'] for found in ours):,} of {number:,}"
    yield f"{sum(found['within'] for found in ours):,} of {number:,}"
    yield _gap_text(max(found["worst_gap"] for found in ours))
    yield significant(max(found["worst_seconds"] for found in ours))


def solved_table(result: Result, topics: int) -> Table:
    """Table I or II: how often the best is found and proven."""
    return table(
        f"{SMALL_TOPICS[topics]}: {topics:,} topics; instances of "
        f"{result['instances']:,} (paper: of 50) with a certificate, at most "
        f"{result['limit_seconds']:g} s each (paper: an hour on 24 cores)",
        [
            ("distribution, b, M", _label),
            ("paper: solved", _solved),
            _columns("ours: optimal", "optimal"),
            _columns("within 0.1 % or 2", "within"),
            _columns("worst gap, %", "worst_gap", _gap_text),
            _columns("median s", "seconds", significant),
            _columns("worst s", "worst_seconds", significant),
        ],
        [
            cell
            for title in distributions(result)
            for capacity in _capacities(result, topics)
            for cell in certified(
                result, small=True, topics=topics, distribution=title, capacity=capacity
            )
        ],
    )


def _columns(
    name: str, key: str, said: Callable[[Any], str] = "{:,}".format
) -> tuple[str, Callable[[Result], str]]:
    """A column of what our solver, `columns`, came to."""
    return name, lambda cell: said(cell["columns"][key])


def _solved(cell: Result) -> str:
    theirs = cell["published"]["solved"]
    return _NOT_TRIED if theirs is None else f"{theirs:,}"


def readings_table(result: Result) -> Table:
    """Both readings of LowVariance, beside the other distributions."""
    titles = distributions(result)
    by_brokers: dict[int, dict[str, Result]] = {}
    for cell in cells_of(result, small=True, topics=100, capacity=500):
        by_brokers.setdefault(cell["brokers"], {})[cell["distribution"]] = cell
    rows = [
        (f"{brokers}, {name}", *(_delivered(cells.get(t), name) for t in titles))
        for brokers, cells in by_brokers.items()
        for name in PAPER_NAMES
        if any(c[name] and c[name]["percent"] < 100 for c in cells.values())
    ]
    return Table(
        "Distributions of rates: 100 topics, b = 500; data received, % (where any is "
        "below 100)",
        ("M, algorithm", *titles),
        rows,
    )


def scaled_table(result: Result) -> Table:
    """What is proven of the large instances."""
    points = "{:.3f}".format
    return table(
        "Ten times as large (50,000 pairs): a certificate for some instances; data "
        "received, %",
        [
            (
                "topics, distribution, b, M",
                lambda cell: f"{cell['topics']:,} topics, {_label(cell)}",
            ),
            _columns("instances", "instances"),
            _columns("greedy", "greedy", points),
            _columns("mkp", "mkp", points),
            _columns("columns", "percent", points),
            _columns("certified bound", "bound", points),
            _columns("paper's bound", "bound_paper", points),
            _columns("worst gap, %", "worst_gap", _gap_text),
            _columns("worst s", "worst_seconds", significant),
        ],
        certified(result, small=False),
    )


def _capacities(result: Result, topics: int) -> list[int]:
    small = cells_of(result, small=True, topics=topics)
    return sorted({cell["capacity"] for cell in small})


def _label(cell: Result) -> str:
    return f"{cell['distribution']}, {cell['capacity']:,}, {cell['brokers']}"


def _delivered(cell: Result | None, algorithm: str) -> str:
    found: Any = cell and cell[algorithm]
    return f"{found['percent']:.2f}" if found else NONE


_HEURISTICS = ("greedy", "mkp")
# Figures 2 to 13


_ALL = ("columns", "greedy", "mkp")


@dataclass(frozen=True)
class Figure:
    """One of the paper's: lines over the number of brokers.

    It has a line for each algorithm, and for each capacity or (`spread`) distribution
    of rates; `ms` is time, else it is data received.
    """

    number: int
    topics: int
    subscribers: int
    capacities: tuple[int, ...]
    algorithms: tuple[str, ...]
    spread: bool = False
    ms: bool = False

    @property
    def title(self) -> str:
        what = "milliseconds" if self.ms else "data received, %"
        sizes = f"{self.topics:,} topics, {self.subscribers:,} subscribers"
        fleet = " and ".join(f"{c:,}" for c in self.capacities)
        which = "" if self.spread else f", {_EVEN}"
        return f"Figure {self.number}: {what} ({sizes}, b = {fleet}{which})"


FIGURES = (
    Figure(2, 100, 100, (500,), _ALL),
    Figure(3, 1000, 100, (500,), _ALL),
    Figure(4, 100, 100, (500,), _HEURISTICS, spread=True),
    Figure(5, 1000, 100, (200,), _ALL),
    Figure(6, 100, 100, (200,), _ALL),
    Figure(7, 100, 100, (500,), _HEURISTICS, spread=True, ms=True),
    Figure(8, 1000, 100, (500,), _HEURISTICS, spread=True, ms=True),
    Figure(9, 100, 100, (200,), _HEURISTICS, spread=True, ms=True),
    Figure(10, 1000, 1000, (2000, 5000), _HEURISTICS),
    Figure(11, 1000, 1000, (5000,), _HEURISTICS, spread=True, ms=True),
    Figure(12, 10_000, 1000, (5000,), _HEURISTICS, spread=True, ms=True),
    Figure(13, 1000, 1000, (2000,), _HEURISTICS, spread=True, ms=True),
)


@dataclass(frozen=True)
class _Line:
    name: str
    algorithm: str
    colour: int
    points: dict[int, float]


def figure_tables(result: Result) -> list[Table]:
    """A table for each figure of which something was run."""
    found = ((figure, list(_lines(figure, result))) for figure in FIGURES)
    return [_figure_table(figure, lines) for figure, lines in found if lines]


def plots(result: Result) -> Iterator[Plot]:
    """The same figures, drawn."""
    for figure in FIGURES:
        lines = list(_lines(figure, result))
        if lines:
            yield _plot(figure, lines, result)


def _lines(figure: Figure, result: Result) -> Iterator[_Line]:
    titles = distributions(result) if figure.spread else [_EVEN]
    settings = [(c, t) for c in figure.capacities for t in titles]
    for group, (capacity, title) in enumerate(settings):
        cells = cells_of(
            result,
            topics=figure.topics,
            subscribers=figure.subscribers,
            capacity=capacity,
            distribution=title,
        )
        for algorithm in figure.algorithms:
            points = _points(figure, cells, algorithm)
            if points:
                name = _name(figure, algorithm, capacity, title)
                # Colours tell settings apart; algorithms, if there is but one.
                colour = group if len(settings) > 1 else _ALL.index(algorithm)
                yield _Line(name, algorithm, colour, points)


def _points(
    figure: Figure, cells: Sequence[Result], algorithm: str
) -> dict[int, float]:
    values = (
        (c["brokers"], c[algorithm]["ms"] if figure.ms else percents(c, algorithm))
        for c in cells
    )
    return {brokers: value for brokers, value in values if value is not None}


def _name(figure: Figure, algorithm: str, capacity: int, title: str) -> str:
    if figure.spread:
        return f"{algorithm}, {title}"
    return f"{algorithm}, b = {capacity:,}" if len(figure.capacities) > 1 else algorithm


def _figure_table(figure: Figure, lines: Sequence[_Line]) -> Table:
    brokers = sorted({number for line in lines for number in line.points})
    return Table(
        figure.title,
        ("M", *(line.name for line in lines)),
        [
            (f"{number}", *(_shown(figure, line.points.get(number)) for line in lines))
            for number in brokers
        ],
    )


def _plot(figure: Figure, lines: Sequence[_Line], result: Result) -> Plot:
    return Plot(
        figure.title,
        _caption(figure, result),
        Axis("brokers", log=False),
        Axis("milliseconds", log=True)
        if figure.ms
        else Axis("data received, %", log=False),
        [*(_drawn(figure, line) for line in lines), *_published(figure, result)],
        [_figure_table(figure, lines)],
    )


def _drawn(figure: Figure, line: _Line) -> Series:
    unit = "ms" if figure.ms else "%"
    return series(
        line.name,
        line.points.items(),
        lambda x, y: f"{line.name}, M = {x}: {_shown(figure, y)} {unit}",
        colour=line.colour,
        dashed=line.algorithm == "greedy",
    )


def _published(figure: Figure, result: Result) -> Iterator[Series]:
    """What Tables III and IV quote of a figure."""
    if figure.ms or figure.spread:
        return
    known = [
        (cell["brokers"], cell["published"]["received"])
        for cell in cells_of(
            result,
            topics=figure.topics,
            subscribers=figure.subscribers,
            capacity=figure.capacities[0],
            distribution=_EVEN,
        )
        if cell["published"]["received"]
    ]
    for name in figure.algorithms if known else ():
        paper = f"paper: {PAPER_NAMES[name]}"
        yield series(
            paper,
            [(x, received[PAPER_NAMES[name].lower()]) for x, received in known],
            partial("{}, M = {}: {:.2f} %".format, paper),
            "points",
            colour=_ALL.index(name),
        )


def _caption(figure: Figure, result: Result) -> str:
    text = f"Mean of {result['instances']:,} instances."
    if figure.ms:
        return f"{text} Warm kernels, of which each instance's time is a median."
    if figure.number in (2, 3):
        return f"{text} Of the paper's figure only the values in its tables are known."
    return f"{text} The paper prints no values of this figure."


def _shown(figure: Figure, value: float | None) -> str:
    if value is None:
        return NONE
    return significant(value) if figure.ms else f"{value:.2f}"


# In words


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
        if cell["published"]["solved"] is not None and cell["distribution"] != _MEANT
    ]
    if not tried:
        return text
    number = INSTANCES * len(tried)
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
    if result["instances"] < INSTANCES:
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
            for title in (_EVEN, _PRINTED, _MEANT)
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
            cell_of(result, **common, distribution=_EVEN, capacity=capacity)
            for capacity in (500, 200)
        )
        if wide and narrow:
            ratio = wide["mkp"]["percent"] / narrow["mkp"]["percent"]
            ratios.append(f"{ratio:.2f} times (M = {brokers})")
    return ", ".join(ratios)


def _ahead(topics: int) -> Callable[[Result], str]:
    def of(result: Result) -> str:
        cells = cells_of(result, small=False, topics=topics, distribution=_EVEN)
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


# All of it


_QUESTION = "How much can a fixed fleet deliver, and how much of that is proven?"
_NOTES = (
    '- The experiment of Lambert and Sakellariou, "Allocation of Publisher/Subscriber '
    'Data Links on a Set of Virtual Machines" (IEEE CLOUD 2018). Their machines are '
    "brokers here (M of them, of bandwidth b), their publishers are topics.",
    "- Instances: 100 subscribers with 5 different topics each (500 pairs) of 100 or "
    "1,000; scaled, 1,000 subscribers with 50 each (50,000 pairs) of 1,000 or 10,000. "
    "Topics are drawn uniformly, rates uniformly from 10 (Homogeneous), 8-19 or 8-12 "
    "(LowVariance), 1-19 (HighVariance). An instance is the same for all fleets and "
    "algorithms, and differs between distributions in its rates only. `cells/` has "
    "the seed of each, with which `generate uniform` makes it again.",
    "- `columns` is our solver, beside their ILP; `greedy` is their GS and `mkp` their "
    "MKPBS, both with the errors of the printed algorithms mended. GS as printed does "
    "not end when a publisher fits nowhere; mended, it delivers a bit more than they "
    "report.",
    "- Optimal: value and certified bound are equal. The gap is (bound - value) / "
    "value. `paper: solved` is how often CPLEX ended within an hour on 24 cores, of "
    "50.",
    "- Seconds are wall clock of one process, with as many of them at work as there "
    "are cores; milliseconds those of the compiled kernel alone, the median of "
    "several runs on an instance. Topics that nobody wants are left out before. The "
    "paper's are of C on a laptop of 2013.",
    "- The paper prints no numbers for its figures but those that Tables III and IV "
    "quote: the figures here are ours. Figures 5 and 6 do not say which distribution "
    "they show; here it is Homogeneous.",
    "- Checks, of every filling, by code that shares nothing with the planners: no "
    "broker over its capacity, no more pairs of a topic than want it, value as said.",
)


def _gap_text(share: float) -> str:
    return significant(100 * share)


def account(result: Result) -> Account:
    """All that is said of a result of `reproduce fill`."""
    claims = filled(claims_table(result))
    every, said = tables(result), [agreement(result), readings(result)]
    figures = [*claims, *figure_tables(result)]
    sections = [Section("Tables", tables=every), Section("Figures", tables=figures)]
    return Account(
        result=result,
        question=_QUESTION,
        answer=answer(result),
        verdict=_verdict(result),
        said=[Said([part for part in said if part], "paragraphs")],
        blocks=[Block([table]) for table in compared(result)],
        sections=[
            Section("How it was run", _NOTES),
            *(section for section in sections if section.tables),
        ],
        tables=[*every, *claims],
        plots=list(plots(result)),
        facts=list(_facts(result)),
        inputs=[
            Fact("Instances of each setting", f"{result['instances']:,}"),
            Fact("Limit of columns", f"{result['limit_seconds']:g} s"),
            Fact("Processes", f"{result['processes']:,}"),
        ],
    )


def _verdict(result: Result) -> str:
    fillings = sum(
        2 * c["instances"] + (c["columns"] or {"instances": 0})["instances"]
        for c in result["cells"]
    )
    return verdict(
        result,
        f"{counted(fillings, 'filling')} counted again",
        "capacities, pairs that exist, values, none above its bound, columns at least "
        "greedy and mkp",
        missing=counted_if(result["cells_missing"], "setting", " not run"),
        outdated=counted_if(result["cells_of_other_code"], "setting"),
    )


def _facts(result: Result) -> Iterator[Fact]:
    held = [held for c in result["cells"] for held in (c["checks"] or {}).values()]
    if held:
        share = f"{sum(held)} of {len(held)} hold"
        yield Fact("Tables III and IV", share, agreement(result))
    said = readings(result)
    if said:
        yield Fact("LowVariance", "two readings", said)
