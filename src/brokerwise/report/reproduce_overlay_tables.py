"""Figures 9 and 10 and Table I of `reproduce overlay`, in numbers."""

from collections.abc import Sequence

from brokerwise.report.html import Table
from brokerwise.report.numbers import percent, significant
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.reproduce_overlay_cells import (
    ALGORITHMS,
    LARGEST,
    LITERAL,
    OURS,
    PAPER_NAMES,
    PAPERS,
    Result,
    at_sites,
    by_ratio,
    by_users,
    generated,
    literal_order,
    order_of,
    reduction,
)

_NONE = "-"
_GREATER = " > "


def tables(result: Result) -> list[Table]:
    """All of them that have rows."""
    found = [
        orders_table(result),
        times_table(result),
        *(users_table(result, regime) for regime in generated(result)),
        *(ratio_table(result, regime) for regime in generated(result)),
        certified_table(result),
        sites_table(result),
    ]
    return [table for table in found if table.rows]


def compared(result: Result) -> list[Table]:
    """What a terminal has room for: the largest networks, orders, times."""
    found = (
        overview_table(result),
        orders_table(result),
        times_table(result),
        sites_table(result),
    )
    return [table for table in found if table.rows]


def users_table(result: Result, regime: Result) -> Table:
    """Figure 9."""
    return Table(
        f"Figure 9, {regime['title']}, ratio {regime['ratio']:g}: cost reduction "
        "ratio, mean and its standard error",
        ("users", "brokers", "samples", *_columns()),
        [
            (f"{c['users']:,}", f"{c['brokers']:,}", f"{c['samples']:,}", *_ratios(c))
            for c in by_users(result, regime)
        ],
    )


def ratio_table(result: Result, regime: Result) -> Table:
    """Figure 10."""
    cells = by_ratio(result, regime)
    users = cells[0]["users"] if cells else LARGEST
    return Table(
        f"Figure 10, {regime['title']}, {users:,} users: cost reduction ratio, mean "
        "and its standard error",
        ("access-to-core ratio", "core share of greedy", "samples", *_columns()),
        [
            (
                f"{cell['ratio']:g}",
                percent(cell["core_share"]["greedy"]),
                f"{cell['samples']:,}",
                *_ratios(cell),
            )
            for cell in cells
        ],
    )


def overview_table(result: Result) -> Table:
    """The largest networks of each regime, at all ratios."""
    rows = [
        (
            f"{regime['key']}, ratio {cell['ratio']:g}",
            *_means(cell),
            _gap(cell),
            percent(cell["core_share"]["greedy"]),
        )
        for regime in generated(result)
        for cell in (by_ratio(result, regime) or by_users(result, regime)[-1:])
    ]
    users = max((cell["users"] for cell in result["cells"]), default=LARGEST)
    return Table(
        f"Cost reduction ratio at {users:,} users",
        (
            *("regime", *ALGORITHMS, "possible", "gap of local"),
            "core share of greedy",
        ),
        rows,
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
                    _names(literal_order(literal[-1])) if literal else _NONE,
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
    return f"{agree} of {len(found)} sizes" if found else _NONE


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
                f"{theirs[name]:g}" if name in theirs else _NONE,
                significant(seconds),
                significant(theirs[name] / seconds)
                if name in theirs and seconds
                else _NONE,
            )
            for name, seconds in ours.items()
        ],
    )


def certified_table(result: Result) -> Table:
    """What is proven of `local`, and how it compares instance by instance."""
    cells = [cell for cell in result["cells"] if cell["local"]]
    return Table(
        "The gap of local, (cost - bound) / cost, and what greedy reaches of what is "
        "possible (samples that local wired)",
        (
            *("regime, users, ratio", "samples", "at least as good as all"),
            *("mean gap", "worst gap", "greedy", "possible", "greedy / possible"),
            *("core share of greedy", "of local", "median s", "worst s"),
        ),
        [
            (
                f"{cell['regime']}, {cell['users']:,}, {cell['ratio']:g}",
                *_certified(cell),
            )
            for cell in cells
        ],
    )


def sites_table(result: Result) -> Table:
    """Networks at the sites of latency files."""
    rows = [
        (
            f"{regime['title']}, ratio {cell['ratio']:g}",
            f"{cell['users']:,}",
            f"{cell['brokers']:,}",
            *_ratios(cell),
            _gap(cell),
            percent(cell["core_share"]["greedy"]),
        )
        for regime in at_sites(result)
        for cell in (by_ratio(result, regime) or by_users(result, regime))
    ]
    counts = {r["sites"]: r["site_count"] for r in at_sites(result)}
    files = ", ".join(f"{name} ({count:,} sites)" for name, count in counts.items())
    return Table(
        f"Measured latencies: {files}; cost reduction ratio, mean and its standard "
        "error",
        (
            *("file, interests", "users", "brokers", *_columns()),
            *("gap of local", "core share of greedy"),
        ),
        rows,
    )


def _columns() -> Sequence[str]:
    mixing = [f"{name} ({PAPER_NAMES[name]})" for name in ("steiner", LITERAL)]
    ours = OURS, "its samples", "possible"
    return ("greedy", "clustering", *mixing, "its samples", *ours)


def _ratios(cell: Result) -> list[str]:
    ours, papers = cell["local"], [_with_error(cell["crr"][name]) for name in PAPERS]
    papers += _of_some(cell["literal"])
    return [*papers, *_of_some(ours), reduction(ours["possible"]) if ours else _NONE]


def _of_some(found: Result | None) -> list[str]:
    """What an algorithm comes to that may not have wired all samples, and how many."""
    if found is None:
        return [_NONE, "0"]
    alone = found["samples"] == 1
    mean = reduction(found["mean"]) if alone else _with_error(found)
    return [mean, f"{found['samples']:,}"]


def _means(cell: Result) -> list[str]:
    ours = cell["local"]
    means = [reduction(cell["crr"][name]["mean"]) for name in PAPERS]
    means.append(reduction(cell["literal"]["mean"]) if cell["literal"] else _NONE)
    if ours is None:
        return [*means, _NONE, _NONE]
    return [*means, reduction(ours["mean"]), reduction(ours["possible"])]


def _gap(cell: Result) -> str:
    return gap_text(cell["local"]["worst_gap"]) if cell["local"] else _NONE


def _certified(cell: Result) -> list[str]:
    ours = cell["local"]
    greedy = ours["others"]["greedy"]["mean"]
    return [
        f"{ours['samples']:,}",
        f"{ours['best']:,}",
        gap_text(ours["gap"]),
        gap_text(ours["worst_gap"]),
        reduction(greedy),
        reduction(ours["possible"]),
        percent(greedy / ours["possible"]),
        percent(cell["core_share"]["greedy"]),
        percent(ours["core_share"]),
        significant(ours["seconds"]),
        significant(ours["worst_seconds"]),
    ]


def _with_error(found: Result) -> str:
    return f"{reduction(found['mean'])} ± {found['error']:.3f}"
