"""What the numbers of `reproduce balance` say, in words."""

from collections.abc import Iterator, Sequence

from brokerwise.report.numbers import counted, percent
from brokerwise.report.provision_sentences import gap_text
from brokerwise.report.reproduce_balance_cells import (
    CITY,
    LIVE,
    PAPER,
    PAPER_NAMES,
    Result,
    cov_text,
    load_text,
    run_of,
    runs_of,
    unit_of,
)

_SAYS = {True: "so in ours", False: "not so in ours", None: ""}


def answer(result: Result) -> str:
    """The result in a sentence or two."""
    return " ".join(
        [*_near_words(result, PAPER), *_seed_words(result), *_claim_words(result)]
    )


def _near_words(result: Result, world: str) -> Iterator[str]:
    """Nearest placement: what each policy makes of it."""
    none = run_of(result, world, "nearest", "none")
    if none is None:
        yield "The runs without balancing are not there yet."
        return
    parts = []
    for policy in ("ldm", "gsh", "planned"):
        run = run_of(result, world, "nearest", policy)
        if run is not None:
            parts.append(
                f"{PAPER_NAMES[policy]} to {cov_text(run['cov'])} with "
                f"{counted(run['moves'], 'move')}"
            )
    yield (
        f"With nearest placement cov is {cov_text(none['cov'])} on average over time; "
        f"{', '.join(parts)}."
        if parts
        else f"With nearest placement cov is {cov_text(none['cov'])}."
    )


def _seed_words(result: Result) -> Iterator[str]:
    found = result["seeds"]
    if found["rows"]:
        ours = found["compared"][found["ours"][0]]
        yield (
            f"Over {counted(len(found['rows']), 'seed')} planned has a lower cov than "
            f"{PAPER_NAMES[found['paper']]} in {ours['lower_cov']}: cov "
            f"{_change(ours['cov_over_papers'])} on average, for moves "
            f"{_change(ours['moves_over_papers'])}."
        )


def _and_so_on(found: Result) -> str:
    number = len(found["rows"])
    return "; ".join(
        f"{PAPER_NAMES[name]} has a lower cov in {one['lower_cov']} of {number}, in "
        f"{one['lower_cov_no_more_moves']} with no more moves (on average cov "
        f"{_change(one['cov_over_papers'])}, moves "
        f"{_change(one['moves_over_papers'])}, max load "
        f"{_change(one['max_load_over_papers'])})"
        for name, one in found["compared"].items()
    )


def _change(ratio: float | None) -> str:
    return "-" if ratio is None else f"{100 * (ratio - 1):+.2f} %"


def _claim_words(result: Result) -> Iterator[str]:
    known = [claim for claim in result["claims"] if claim["holds"] is not None]
    if known:
        yield (
            f"{sum(claim['holds'] for claim in known)} of {len(known)} things that the "
            "paper says of its figures are so in ours."
        )


def claims(result: Result) -> list[str]:
    """What the paper says, and what we find."""
    return [
        f"Figures {claim['figures']}: {claim['paper']}: {_SAYS[claim['holds']]} "
        f"({claim['ours']})."
        for claim in result["claims"]
        if claim["holds"] is not None
    ]


def seeds(result: Result) -> list[str]:
    """The comparison over seeds, and why it comes out so."""
    found = result["seeds"]
    if not found["rows"]:
        return []
    return [
        f"Over {counted(len(found['rows']), 'seed')}, against "
        f"{PAPER_NAMES[found['paper']]}: {_and_so_on(found)}.",
        "Under a budget planned does not wait for the mean load to exceed beta, and "
        "moves at most 1 % of all sessions at a time: early, but while it becomes "
        "clear who will be heavy. LDM, if it begins as early and goes in the same "
        "steps, comes to about the same: where sessions are so small, and every topic "
        "is on every broker, its choice of moves leaves little to gain; when to move "
        "is what matters.",
    ]


def bounds(result: Result) -> list[str]:
    """How far from the bound ours ends, and why that is far."""
    said = []
    for world in (CITY, PAPER):
        run = run_of(result, world, "nearest", "planned")
        if run is not None:
            unit = unit_of([run])
            over = run["max_load_end"] / run["mean_load_end"] - 1
            said.append(
                f"{world}: planned ends with a max load of "
                f"{load_text(run['max_load_end'], unit)}, {percent(max(0.0, over))} "
                f"above the mean that it leaves; the bound is "
                f"{load_text(run['bound'], unit)} (gap {gap_text(run['gap'])})"
            )
    if not said:
        return []
    return [
        f"{'; '.join(said)}. The bound counts every topic as received by one broker "
        "only, while here nearly every broker carries nearly every topic."
    ]


def live(result: Result) -> list[str]:
    """What real processes have shown."""
    runs = runs_of(result, LIVE)
    if not runs:
        return []
    lost, twice, wrong, moves, handed = (
        sum(run[key] for run in runs)
        for key in ("lost", "twice", "wrong", "moves", "deliveries")
    )
    said = [
        f"On real processes, {counted(len(runs), 'run')}: {counted(moves, 'move')}, "
        f"{handed:,} deliveries, lost {lost:,}, twice {twice:,}, wrong {wrong:,}."
    ]
    said += _not_live(runs)
    nearest = [run for run in runs if run["placement"] == "nearest"]
    alone = next((run for run in nearest if run["policy"] == "none"), None)
    return said + [_live_run(run, alone) for run in nearest if run["moves"]]


def _not_live(runs: Sequence[Result]) -> list[str]:
    """Figures 5 to 7 cannot be judged where LDM and SDM moved nothing."""
    even = [
        run
        for run in runs
        if run["placement"] != "nearest" and run["policy"] in ("ldm", "sdm")
    ]
    if not even or any(run["moves"] for run in even):
        return []
    return [
        "Figures 5 to 7 are not reproduced on real processes: with random and "
        f"round-robin placement LDM and SDM made 0 moves in {counted(len(even), 'run')}"
        ", so that runs with and without them differ by noise only."
    ]


def _live_run(run: Result, alone: Result | None) -> str:
    """Loads rise while users come: what counts is the end, with and without."""
    unit = unit_of([run])
    without = ""
    if alone is not None:
        end = load_text(alone["max_after"], unit)
        without = f" (without balancing {end}, cov {cov_text(alone['cov_after'])})"
    return (
        f"Live, nearest, {PAPER_NAMES[run['policy']]}: cov "
        f"{cov_text(run['cov_before'])} -> {cov_text(run['cov_after'])}, max load "
        f"{load_text(run['max_before'], unit)} when it began, while users still came, "
        f"and {load_text(run['max_after'], unit)} at the end{without}, "
        f"{counted(run['moves'], 'move')}."
    )


def verdict(result: Result) -> str:
    """What was checked, and what is not there."""
    runs = result["runs"] - result["runs_missing"]
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    return " ".join(
        [
            f"{counted(runs, 'simulated run')} counted again: {checks} (loads pair by "
            "pair, cov, sessions and moves; none below its bound).",
            *_missing(result),
        ]
    )


def _missing(result: Result) -> Iterator[str]:
    if result["runs_missing"] or result["live_missing"]:
        runs = counted(result["runs_missing"] + result["live_missing"], "run")
        yield f"Not complete: {runs} not done yet; the same command goes on."
    if result["runs_of_other_code"]:
        kept = counted(result["runs_of_other_code"], "run")
        yield f"{kept} kept from earlier code; --force computes all again."
