"""What is said of `reproduce overlay`: Figures 9 and 10, Table I."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from brokerwise.reproduce.account import (
    NONE,
    Account,
    Block,
    Columns,
    Result,
    Said,
    Section,
    column,
    counted_if,
    filled,
    matching,
    series,
    table,
    verdict,
)
from brokerwise.reproduce.overlay_settings import LITERAL, OURS, PAPERS
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.results import gap_text
from brokerwise.show.tables import Fact, Table

ALGORITHMS = (*PAPERS, LITERAL, OURS)
PAPER_NAMES = {
    "random": "random",
    "greedy": "greedy packing",
    "clustering": "clustering",
    "steiner": "our mixing",
    LITERAL: "mixing",
}
"""Our algorithms, and what the paper calls them, or would."""
LARGEST = 10_000
"""Users of the paper's Figure 10 and Table I."""


def generated(result: Result) -> list[Result]:
    """Regimes of networks that were drawn, not of latency files."""
    return [regime for regime in result["regimes"] if regime["sites"] is None]


def at_sites(result: Result) -> list[Result]:
    return [regime for regime in result["regimes"] if regime["sites"] is not None]


def by_users(result: Result, regime: Result) -> list[Result]:
    """Figure 9: the cells of a regime at its ratio, smallest first."""
    found = matching(result["cells"], regime=regime["key"])
    same = [cell for cell in found if cell["ratio"] == regime["ratio"]]
    return sorted(same, key=lambda cell: cell["users"])


def by_ratio(result: Result, regime: Result) -> list[Result]:
    """Figure 10: the cells of a regime's largest networks, by ratio, if there are
    several."""
    found = matching(result["cells"], regime=regime["key"])
    users = max((cell["users"] for cell in found), default=0)
    largest = [cell for cell in found if cell["users"] == users]
    return sorted(largest, key=lambda cell: cell["ratio"]) if len(largest) > 1 else []


def reduction(ratio: float) -> str:
    """A cost reduction ratio for people: `9.97`."""
    return f"{ratio:,.2f}"


def mean_of(cell: Result, algorithm: str) -> float | None:
    """The mean cost reduction ratio; None if the algorithm was not run."""
    if algorithm in PAPERS:
        return float(cell["crr"][algorithm]["mean"])
    found = cell["local" if algorithm == OURS else "literal"]
    return float(found["mean"]) if found else None


def _falling(means: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted([("random", 1.0), *means.items()], key=lambda found: -found[1])


def order_of(cell: Result) -> list[tuple[str, float]]:
    """The algorithms that wired all samples by falling mean, with random (1) in its
    place."""
    return _falling({name: cell["crr"][name]["mean"] for name in PAPERS})


def literal_order(cell: Result) -> list[tuple[str, float]]:
    """The same with the paper's own mixing, on the samples that it wired, and without
    our variant of it; nothing if there are none."""
    found = cell["literal"]
    if not found:
        return []
    others = {name: found["others"][name]["mean"] for name in ("greedy", "clustering")}
    return _falling({**others, LITERAL: found["mean"]})


# Tables


_GREATER = " > "


def _local(
    name: str, key: str, said: Callable[[Any], str]
) -> tuple[str, Callable[[Result], str]]:
    """A column of what `local` came to, where it was run."""
    return name, lambda cell: said(cell["local"][key]) if cell["local"] else NONE


def _with_error(found: Result) -> str:
    return f"{reduction(found['mean'])} ± {found['error']:.3f}"


def _of_some(found: Result | None) -> str:
    """Of an algorithm that may not have wired all samples."""
    if found is None:
        return NONE
    return reduction(found["mean"]) if found["samples"] == 1 else _with_error(found)


def _samples(found: Result | None) -> str:
    return f"{found['samples']:,}" if found else "0"


_POSSIBLE = _local("possible", "possible", reduction)
_WORST_GAP = _local("gap of local", "worst_gap", gap_text)
_GREEDY_SHARE = (
    "core share of greedy",
    lambda cell: percent(cell["core_share"]["greedy"]),
)
_SIZES = (column("users", "users"), column("brokers", "brokers"))
_RATIOS: Columns[Result] = (
    ("greedy", lambda cell: _with_error(cell["crr"]["greedy"])),
    ("clustering", lambda cell: _with_error(cell["crr"]["clustering"])),
    (f"steiner ({PAPER_NAMES['steiner']})", lambda c: _with_error(c["crr"]["steiner"])),
    (f"{LITERAL} ({PAPER_NAMES[LITERAL]})", lambda cell: _of_some(cell["literal"])),
    ("its samples", lambda cell: _samples(cell["literal"])),
    (OURS, lambda cell: _of_some(cell["local"])),
    ("its samples", lambda cell: _samples(cell["local"])),
    _POSSIBLE,
)
"""Cost reduction ratios, with their errors."""


def tables(result: Result) -> list[Table]:
    """All of them that have rows."""
    return filled(
        orders_table(result),
        times_table(result),
        *(users_table(result, regime) for regime in generated(result)),
        *(ratio_table(result, regime) for regime in generated(result)),
        certified_table(result),
        sites_table(result),
    )


def compared(result: Result) -> list[Table]:
    """What a terminal has room for: the largest networks, orders, times."""
    return filled(
        overview_table(result),
        orders_table(result),
        times_table(result),
        sites_table(result),
    )


def users_table(result: Result, regime: Result) -> Table:
    """Figure 9."""
    return table(
        f"Figure 9, {regime['title']}, ratio {regime['ratio']:g}: cost reduction "
        "ratio, mean and its standard error",
        [*_SIZES, column("samples", "samples"), *_RATIOS],
        by_users(result, regime),
    )


def ratio_table(result: Result, regime: Result) -> Table:
    """Figure 10."""
    cells = by_ratio(result, regime)
    users = cells[0]["users"] if cells else LARGEST
    return table(
        f"Figure 10, {regime['title']}, {users:,} users: cost reduction ratio, mean "
        "and its standard error",
        [
            column("access-to-core ratio", "ratio", "{:g}".format),
            _GREEDY_SHARE,
            column("samples", "samples"),
            *_RATIOS,
        ],
        cells,
    )


def overview_table(result: Result) -> Table:
    """The largest networks of each regime, at all ratios."""
    users = max((cell["users"] for cell in result["cells"]), default=LARGEST)

    def mean(name: str, cell: Result) -> str:
        found = mean_of(cell, name)
        return NONE if found is None else reduction(found)

    return table(
        f"Cost reduction ratio at {users:,} users",
        [
            ("regime", lambda cell: f"{cell['regime']}, ratio {cell['ratio']:g}"),
            *((name, partial(mean, name)) for name in ALGORITHMS),
            _POSSIBLE,
            _WORST_GAP,
            _GREEDY_SHARE,
        ],
        [
            cell
            for regime in generated(result)
            for cell in (by_ratio(result, regime) or by_users(result, regime)[-1:])
        ],
    )


def orders_table(result: Result) -> Table:
    """Whether the paper's order is ours, by regime. Without local, which may have
    fewer samples: its means are of other networks."""
    rows = []
    for regime in generated(result):
        cells = by_users(result, regime)
        if cells:
            literal = [cell for cell in cells if cell["literal"]]
            rows.append(
                (
                    f"{regime['key']}, ratio {regime['ratio']:g}",
                    _GREATER.join((*result["published"]["order"], "random")),
                    _names(literal_order(literal[-1])) if literal else NONE,
                    _agreeing([cell["literal"] for cell in literal]),
                    _names(order_of(cells[-1])),
                    _agreeing(cells),
                )
            )
    return Table(
        "Order of cost reduction ratios in Figure 9, at most users, and sizes with the "
        "paper's order: steiner_literal is the paper's mixing, steiner our variant of "
        "it, with one tree for each sub-channel",
        (
            *("regime", "paper", "its own mixing (steiner_literal)"),
            *("the paper's order at", "our mixing (steiner)", "the paper's order at"),
        ),
        rows,
    )


def _names(order: list[tuple[str, float]]) -> str:
    return _GREATER.join(name for name, _ in order)


def _agreeing(found: Sequence[Result]) -> str:
    agree = sum(one["paper_order"] for one in found)
    return f"{agree} of {len(found)} sizes" if found else NONE


def times_table(result: Result) -> Table:
    """Table I."""
    times = result["times"]
    if times is None:
        return Table("Table I", (), [])
    theirs, ours = result["published"]["seconds"], times["seconds"]
    return Table(
        f"Table I: seconds at {times['users']:,} users, {times['brokers']:,} brokers, "
        f"ratio 1 (median of {times['repeats']}, of local {times['local_repeats']}, of "
        f"{LITERAL} {times['literal_repeats']})",
        ("algorithm", "paper", "ours", "paper / ours"),
        [
            (
                f"{name} ({PAPER_NAMES[name]})" if name in PAPER_NAMES else name,
                f"{theirs[name]:g}" if name in theirs else NONE,
                significant(seconds),
                significant(theirs[name] / seconds)
                if name in theirs and seconds
                else NONE,
            )
            for name, seconds in ours.items()
        ],
    )


def certified_table(result: Result) -> Table:
    """What is proven of `local`, and how it compares instance by instance."""

    def greedy(cell: Result) -> float:
        return float(cell["local"]["others"]["greedy"]["mean"])

    def label(cell: Result) -> str:
        return f"{cell['regime']}, {cell['users']:,}, {cell['ratio']:g}"

    return table(
        "The gap of local, (cost - bound) / cost, and what greedy reaches of what is "
        "possible (samples that local wired)",
        [
            ("regime, users, ratio", label),
            _local("samples", "samples", "{:,}".format),
            _local("at least as good as all", "best", "{:,}".format),
            _local("mean gap", "gap", gap_text),
            _local("worst gap", "worst_gap", gap_text),
            ("greedy", lambda cell: reduction(greedy(cell))),
            _POSSIBLE,
            (
                "greedy / possible",
                lambda cell: percent(greedy(cell) / cell["local"]["possible"]),
            ),
            _GREEDY_SHARE,
            _local("of local", "core_share", percent),
            _local("median s", "seconds", significant),
            _local("worst s", "worst_seconds", significant),
        ],
        [cell for cell in result["cells"] if cell["local"]],
    )


def sites_table(result: Result) -> Table:
    """Networks at the sites of latency files."""
    regimes = {regime["key"]: regime["title"] for regime in at_sites(result)}
    counts = {r["sites"]: r["site_count"] for r in at_sites(result)}
    files = ", ".join(f"{name} ({count:,} sites)" for name, count in counts.items())

    def label(cell: Result) -> str:
        return f"{regimes[cell['regime']]}, ratio {cell['ratio']:g}"

    return table(
        f"Measured latencies: {files}; cost reduction ratio, mean and its standard "
        "error",
        [("file, interests", label), *_SIZES, *_RATIOS, _WORST_GAP, _GREEDY_SHARE],
        [
            cell
            for regime in at_sites(result)
            for cell in (by_ratio(result, regime) or by_users(result, regime))
        ],
    )


# Figures


_COLOURS = {OURS: 0, "greedy": 1, "clustering": 2, "steiner": 3, LITERAL: 4}
_USERS = Axis("users", log=False)
_RATIO = Axis("access-to-core link cost ratio")
_CRR = Axis("cost reduction ratio")


def plots(result: Result) -> Iterator[Plot]:
    """What there is of: Figure 9 by regime, Figure 10 by regime, the gap."""
    for regime in generated(result):
        cells = by_users(result, regime)
        title = f"Figure 9: {regime['title']}, ratio {regime['ratio']:g}"
        yield _plot(title, _USERS, "users", cells, users_table(result, regime))
    for regime in generated(result):
        cells = by_ratio(result, regime)
        if cells:
            title = f"Figure 10: {regime['title']}, {cells[0]['users']:,} users"
            yield _plot(title, _RATIO, "ratio", cells, ratio_table(result, regime))
    yield _gaps(result)


def _plot(
    title: str, axis: Axis, along: str, cells: Sequence[Result], table: Table
) -> Plot:
    samples = max((cell["samples"] for cell in cells), default=0)
    ours = [cell["local"]["samples"] for cell in cells if cell["local"]]
    local = f", of local {min(ours):,}" if ours and min(ours) < samples else ""
    return Plot(
        title,
        "What random wiring costs over what each algorithm's does: mean of "
        f"{samples:,} samples{local}. No wiring can do better than the dashed line "
        "(random over the certified bound). The paper's figure has no numbers.",
        axis,
        _CRR,
        [*_lines(along, cells), *_limit(along, cells)],
        [table],
    )


def _lines(along: str, cells: Sequence[Result]) -> Iterator[Series]:
    for name in ALGORITHMS:
        known = [(cell[along], mean_of(cell, name)) for cell in cells]
        points = [(x, y) for x, y in known if y is not None]
        called = PAPER_NAMES.get(name, name)
        label = name if called == name else f"{name} ({called})"
        if points:
            yield _path(label, along, points, _COLOURS[name])


def _limit(along: str, cells: Sequence[Result]) -> Iterator[Series]:
    points = [(c[along], c["local"]["possible"]) for c in cells if c["local"]]
    if points:
        yield _path("possible", along, points, _COLOURS[OURS], dashed=True)


def _path(
    name: str,
    along: str,
    points: Sequence[tuple[float, float]],
    colour: int,
    dashed: bool = False,
) -> Series:
    def said(x: float, y: float) -> str:
        at = f"{x:,g} users" if along == "users" else f"ratio {x:g}"
        return f"{name}, {at}: {reduction(y)}"

    return series(name, points, said, colour=colour, dashed=dashed)


def _gaps(result: Result) -> Plot:
    lines = []
    for number, regime in enumerate(generated(result)):
        key = regime["key"]
        cells = [cell for cell in by_users(result, regime) if cell["local"]]
        gaps = {cell["users"]: cell["local"]["worst_gap"] for cell in cells}
        said = [
            f"{key}, {users:,} users: {percent(gap)}" for users, gap in gaps.items()
        ]
        shares = [100 * gap for gap in gaps.values()]
        lines.append(Series(key, list(gaps), shares, said, "path", colour=number))
    return Plot(
        "Certified gap of local",
        "By what share of its cost local could be undercut at most, in the worst of "
        "its samples. Where the core is most of the cost, the bound is weak and little "
        "is proven.",
        _USERS,
        Axis("worst gap, %"),
        lines,
        [certified_table(result)],
    )


# In words


# Certified gaps that `local` is to keep at the largest networks, by ratio.
_AIMS = {1.0: 0.04, 10.0: 0.02}
_CORE_RULES = 0.5  # share of greedy's cost, from which on the core decides
_NEAR = 0.9  # share of what is possible, from which on little is left to win


def answer(result: Result) -> str:
    """The result in a sentence or two."""
    ran = [cell["local"] for cell in result["cells"] if cell["local"]]
    if not ran:
        return "local wired no sample yet."
    number, best = (sum(ours[key] for ours in ran) for key in ("samples", "best"))
    text = (
        f"On {best:,} of {counted(number, 'instance')} local is at least as good as "
        "every algorithm of the paper."
    )
    return " ".join([text, *_gap_words(result), *_order_words(result)])


def _gap_words(result: Result) -> Iterator[str]:
    parts = []
    cells = [cell for r in generated(result) for cell in by_users(result, r)[-1:]]
    for cell in cells:
        if cell["local"] and cell["width"] == 1:
            parts.append(f"{gap_text(cell['local']['worst_gap'])} ({cell['regime']})")
    if parts:
        users = cells[0]["users"]
        yield (
            f"At {users:,} users and ratio 1 no wiring is more than "
            f"{' and '.join(parts)} cheaper."
        )


def _order_words(result: Result) -> Iterator[str]:
    """Where the paper's order appears: with its own mixing, and with ours."""
    literal, ours = dict[str, list[bool]](), dict[str, list[bool]]()
    for regime in generated(result):
        for cell in by_users(result, regime):
            ours.setdefault(regime["key"], []).append(cell["paper_order"])
            if cell["literal"]:
                same = cell["literal"]["paper_order"]
                literal.setdefault(regime["key"], []).append(same)
    if not ours:
        return
    text = "The paper's order, mixing > clustering > greedy > random, appears "
    if literal:
        text += f"{_sizes(literal)} with its own mixing (steiner_literal), and "
    yield f"{text}{_sizes(ours)} with our variant of it (steiner)."


def _sizes(found: dict[str, list[bool]]) -> str:
    """`at 0 of 4 sizes of plane and 10 of 10 of core`."""
    parts = [f"{sum(same)} of {len(same)} of {key}" for key, same in found.items()]
    count = len(next(iter(found.values())))
    first = parts[0].replace(f"of {count} of", f"of {count} sizes of", 1)
    return f"at {' and '.join([first, *parts[1:]])}"


def explained(result: Result) -> list[Result]:
    """The regimes of which there is something to explain."""
    return [regime for regime in generated(result) if by_users(result, regime)]


def explanations(result: Result) -> list[str]:
    """For each of these, both orders and why, at its largest networks."""
    return [_explained(r, by_users(result, r)[-1]) for r in explained(result)]


def _explained(regime: Result, cell: Result) -> str:
    text = (
        f"{regime['key']}, {cell['users']:,} users, ratio {cell['ratio']:g}: paper "
        f"mixing > clustering > greedy > random; ours {_with_means(order_of(cell))}"
        f"{' (the same order)' if cell['paper_order'] else ''}, where steiner is our "
        "mixing."
    )
    literal = cell["literal"]
    if literal:
        text += (
            f" With theirs, on {counted(literal['samples'], 'sample')}: "
            f"{_with_means(literal_order(cell))}"
            f"{' (the same order)' if literal['paper_order'] else ''}."
        )
    text += (
        f" The core is {percent(cell['core_share']['random'])} of what random costs "
        f"and {percent(cell['core_share']['greedy'])} of what greedy does."
    )
    return f"{text} {_why(cell)}" if cell["local"] else text


def _with_means(order: list[tuple[str, float]]) -> str:
    return " > ".join(
        "random 1" if name == "random" else f"{name} {reduction(mean)}"
        for name, mean in order
    )


def _why(cell: Result) -> str:
    ours = cell["local"]
    greedy, possible = ours["others"]["greedy"]["mean"], ours["possible"]
    share = greedy / possible
    reached = (
        f"greedy reaches {reduction(greedy)} of the {reduction(possible)} that the "
        f"bound leaves possible ({percent(share)}), local {reduction(ours['mean'])}"
    )
    if share >= _NEAR:
        return (
            f"On the samples that local wired, {reached}: with the cheapest access "
            "links next to nothing is left to win, and algorithms that give up access "
            "for the core lose."
        )
    if cell["core_share"]["greedy"] >= _CORE_RULES:
        return (
            f"On the samples that local wired, {reached}: cheap access links save next "
            "to nothing here, and users who want the same on the same broker do."
        )
    return f"On the samples that local wired, {reached}."


def sweeps(result: Result) -> list[str]:
    """Figure 10 in words: where each algorithm begins and ends."""
    said = []
    for regime in generated(result):
        cells = by_ratio(result, regime)
        if not cells:
            continue
        first, last = cells[0], cells[-1]
        ends = {n: (mean_of(first, n), mean_of(last, n)) for n in ALGORITHMS}
        moved = ", ".join(
            f"{name} from {reduction(here)} to {reduction(there)}"
            for name, (here, there) in ends.items()
            if name != OURS and here is not None and there is not None
        )
        said.append(
            f"{regime['key']}, ratio {first['ratio']:g} to {last['ratio']:g}: {moved}; "
            f"core share of greedy {percent(first['core_share']['greedy'])} to "
            f"{percent(last['core_share']['greedy'])}."
        )
    if said:
        said.insert(
            0,
            "Figure 10: the paper says that mixing hardly changes, and that the others "
            "approach it as core links get cheap.",
        )
    return said


def aims(result: Result) -> list[str]:
    """The gaps that `local` is to keep with interests of any width."""
    said = []
    for regime in generated(result):
        for cell in by_ratio(result, regime):
            aim = _AIMS.get(cell["ratio"])
            large = cell["users"] == LARGEST and cell["width"] == 1
            if aim is not None and large and cell["local"]:
                worst = cell["local"]["worst_gap"]
                held = "kept" if worst <= aim else "missed"
                said.append(
                    f"{regime['key']} at ratio {cell['ratio']:g} {percent(worst)} (aim "
                    f"{percent(aim)}: {held})"
                )
    text = f"Worst gap of local at {LARGEST:,} users: {'; '.join(said)}."
    return [text] if said else []


# All of it


_QUESTION = "Which algorithm wires users and brokers at least cost, and how near is it?"
_NOTES = (
    '- The experiment of Zhao and Wu, "On the Construction of the Minimum Cost '
    'Content-Based Publish/Subscribe Overlays" (IEEE SECON 2011). `greedy` is '
    "their greedy packing, `steiner_literal` their mixing: a tree for each publisher "
    "and sub-channel, from which users draw their broker. `steiner` is our variant of "
    "it, with one tree for each sub-channel; `local` is ours.",
    "- steiner_literal takes up to a minute for a network of 10,000 users, "
    "so it wired the first 10 samples up to 3,000 users, and one of the largest "
    "networks of each regime, at the ratio of Figure 9.",
    "- Networks: 100 users for each broker, 100 sub-channels of one content dimension, "
    "random quadratic densities without their negative part, random intervals as "
    "interests, equal capacities that add up to twice what all users send and receive.",
    "- The paper does not say how link costs are drawn. plane: users and brokers are "
    "random points of a square, links cost their length. independent: access costs are "
    "uniform, with the mean of core links in the plane. Core costs are divided by the "
    "access-to-core ratio.",
    "- core: a regime of ours, where the core matters. Points in the plane, interests "
    "of at most 2 % of the content space, core links dear (ratio 0.01).",
    "- Cost reduction ratio (CRR): what random wiring costs over what the algorithm's "
    "does, on the same network. Possible: what random costs over the certified bound, "
    "which no algorithm can exceed. The gap of local is (cost - bound) / cost.",
    "- A sample's network is the same for all algorithms and ratios, and has the same "
    "random numbers in all regimes. `cells/` has the seed of each, with which "
    "`generate network` and `overlay` make it again.",
    "- Why our mixing changes so much with the ratio in the plane: up to ratio 1, a "
    "link straight to a broker of a sub-channel's tree costs no more than the way by "
    "another broker, so the tree has one broker or few, which saves core and wastes "
    "access; from there on the way by the nearest broker is cheaper, and it has nearly "
    "all.",
    "- Seconds in Table I are wall clock of one process with no other of ours at "
    "work, from the network in memory to the wiring, compiled before; those of local "
    "hold the other algorithms and the bound. The paper's are of C++ without "
    "optimisation on a processor of 2008. Other seconds are with as many processes "
    "as cores.",
    "- The paper prints no numbers for Figures 9 and 10: all in them are ours.",
    "- Checks, by code that shares nothing with the planners: reach, loads, capacities "
    "and access costs of every wiring; core costs of every wiring of the first samples "
    "of each setting, with another algorithm for spanning trees.",
)


def account(result: Result) -> Account:
    """All that is said of a result of `reproduce overlay`."""
    every = tables(result)
    files = dict.fromkeys(regime["sites"] for regime in at_sites(result))
    return Account(
        result=result,
        question=_QUESTION,
        answer=answer(result),
        verdict=_verdict(result),
        said=[
            Said(explanations(result)),
            Said(sweeps(result)),
            Said(aims(result), "paragraphs"),
        ],
        blocks=[Block([table]) for table in compared(result)],
        sections=[Section("How it was run", _NOTES), Section("Tables", tables=every)],
        tables=every,
        plots=list(plots(result)),
        facts=list(_facts(result)),
        inputs=[
            Fact("Samples", counted(result["samples"], "network")),
            *(Fact("Latencies", name) for name in files),
            Fact("Processes", f"{result['processes']:,}"),
        ],
    )


def _verdict(result: Result) -> str:
    wirings = sum(
        (1 + len(PAPERS)) * cell["samples"]
        + sum(cell[some]["samples"] for some in ("local", "literal") if cell[some])
        for cell in result["cells"]
    )
    return verdict(
        result,
        f"{counted(wirings, 'wiring')} counted again",
        "reach, capacities, access costs; core costs of the first "
        f"{result['samples_core_checked']} samples of each setting; none below its "
        "bound; local at most what the others cost",
        missing=counted_if(result["samples_missing"], "sample", " not run"),
        outdated=counted_if(result["parts_of_other_code"], "part"),
    )


def _facts(result: Result) -> Iterator[Fact]:
    for regime, said in zip(explained(result), explanations(result), strict=True):
        share = percent(by_users(result, regime)[-1]["core_share"]["greedy"])
        yield Fact(f"{regime['key']}: core share of greedy", share, said)
    if result["times"]:
        seconds = result["times"]["seconds"]
        theirs = [name for name in seconds if name in result["published"]["seconds"]]
        slowest = max(theirs, key=lambda name: seconds[name])
        local = significant(seconds["local"])
        note = f"the slowest of the paper's, {slowest}; local {local} s"
        yield Fact("Table I", f"{significant(seconds[slowest])} s", note)
