"""What the numbers of `reproduce overlay` say, in words."""

from collections.abc import Iterator

from brokerwise.report.numbers import counted, percent
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.reproduce_overlay_cells import (
    ALGORITHMS,
    LARGEST,
    OURS,
    PAPERS,
    Result,
    by_ratio,
    by_users,
    generated,
    literal_order,
    mean_of,
    order_of,
    reduction,
)

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


def verdict(result: Result) -> str:
    """What was checked, and what is not there."""
    wirings = sum(
        (1 + len(PAPERS)) * cell["samples"]
        + sum(cell[some]["samples"] for some in ("local", "literal") if cell[some])
        for cell in result["cells"]
    )
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    return " ".join(
        [
            f"{counted(wirings, 'wiring')} counted again: {checks} (reach, capacities, "
            "access costs; core costs of the first "
            f"{result['samples_core_checked']} samples of each setting; none below its "
            "bound; local at most what the others cost).",
            *_missing(result),
        ]
    )


def _missing(result: Result) -> Iterator[str]:
    if result["samples_missing"]:
        samples = counted(result["samples_missing"], "sample")
        yield f"Not complete: {samples} not run yet; the same command goes on."
    if result["parts_of_other_code"]:
        kept = counted(result["parts_of_other_code"], "part")
        yield f"{kept} kept from earlier code; --force computes all again."
