"""What the numbers of `reproduce colocate` say, in words."""

from collections.abc import Iterator
from statistics import fmean

from brokerwise.report.numbers import counted
from brokerwise.report.reproduce_colocate_cells import (
    ALGORITHMS,
    EVALUATED,
    HYBRID,
    KINDS,
    PAPER,
    PAPER_200,
    SEARCH,
    UNIFIED,
    Result,
    learned,
    numbers_of,
    r2_text,
    rows_of,
    share_text,
)

_SAYS = {True: "so in ours", False: "not so in ours", None: ""}


def answer(result: Result) -> str:
    """The result in a few sentences."""
    return " ".join(
        [*_accuracy_words(result), *_plan_words(result), *_claim_words(result)]
    )


def _accuracy_words(result: Result) -> Iterator[str]:
    held = {kind: _held(result, kind) for kind in EVALUATED}
    if not all(held.values()):
        yield "Models are not learned yet."
        return
    found = {
        k: f"{r2_text(fmean(v))} (lowest {r2_text(min(v))})" for k, v in held.items()
    }
    yield (
        "On simulated data the paper's recipe, a model for each k from 2 on, predicts "
        "p90 of configurations that it has not seen with a mean R^2 of "
        f"{found[PAPER]} after 5,000 iterations and {found[PAPER_200]} after 200 "
        "(scikit-learn's default; the paper does not say), our one model for all k "
        f"with {found[UNIFIED]}."
    )


def _held(result: Result, kind: str) -> list[float]:
    """R^2 in test and validation, for every number of topics that share a broker."""
    found = []
    for k in numbers_of(result)[1:]:
        model = learned(result, kind, k)
        if model is not None:
            scores = model["scores"][str(k)]
            found += [scores[p] for p in ("test", "validation") if p in scores]
    return found


def _plan_words(result: Result) -> Iterator[str]:
    """What plans come to: theirs, and ours."""
    theirs = _worst(result, PAPER, ("ffd", "lfs", HYBRID))
    ours = _worst(result, UNIFIED, (SEARCH,))
    if theirs and ours:
        yield (
            f"Planned with the recipe, their heuristics leave up to "
            f"{share_text(theirs[0])} of the messages and {share_text(theirs[1])} of "
            f"the topics over the target; search with our model up to "
            f"{share_text(ours[0])} and {share_text(ours[1])}."
        )


def _worst(
    result: Result, kind: str, labels: tuple[str, ...]
) -> tuple[float, float] | None:
    rows = [row for label in labels for row in rows_of(result, kind, label)]
    if not rows:
        return None
    return (
        max(row["messages_over"] for row in rows),
        max(row["topics_over"] for row in rows),
    )


def _claim_words(result: Result) -> Iterator[str]:
    known = [claim for claim in result["claims"] if claim["holds"] is not None]
    if known:
        yield (
            f"{sum(claim['holds'] for claim in known)} of {len(known)} things that the "
            "paper says are so in ours."
        )


def claims(result: Result) -> list[str]:
    """What the paper says, and what we find."""
    return [
        f"{claim['figures']}: {claim['paper']}: {_SAYS[claim['holds']]} "
        f"({claim['ours']})."
        for claim in result["claims"]
        if claim["holds"] is not None
    ]


def planned(result: Result) -> list[str]:
    """Brokers, proofs, and how often the paper's models contradict themselves."""
    said = []
    for kind, name in KINDS.items():
        rows = [row for label in ALGORITHMS for row in rows_of(result, kind, label)]
        if not rows:
            continue
        each = []
        for label, algorithm in ALGORITHMS.items():
            found = rows_of(result, kind, label)
            if not found:
                continue
            brokers = sum(round(row["brokers"] * row["requests"]) for row in found)
            proven = sum(row["proven"] for row in found)
            missed = fmean(row["topics_over"] for row in found)
            each.append(
                f"{algorithm} {brokers:,} brokers ({proven} plans proven to have the "
                f"fewest), {share_text(missed)} of topics over"
            )
        requests = sum(row["requests"] for row in rows_of(result, kind, SEARCH))
        said.append(f"With {name}, {counted(requests, 'request')}: {'; '.join(each)}.")
    said += [*_alone_words(result), *_hybrid_words(result)]
    stopped = sum(row["stopped"] for row in result["plans"])
    if result["plans"]:
        said.append(
            f"{counted(stopped, 'plan')} stopped before the algorithm was done."
            if stopped
            else "No algorithm was stopped before it was done, LFS included."
        )
    return said


def _alone_words(result: Result) -> Iterator[str]:
    """What no plan can help."""
    if result["alone"]:
        yield (
            "On a broker of its own each, "
            f"{share_text(result['alone']['topics_over'])} of the same topics, with "
            f"{share_text(result['alone']['messages_over'])} of the messages, miss the "
            "target (mean over requests): the rest comes of sharing."
        )


def _hybrid_words(result: Result) -> Iterator[str]:
    """How often the hybrid is first fit under another name."""
    pairs = []
    for record in result["requests"]:
        runs = {run["label"]: run for run in record["runs"]}
        if {"ffd", HYBRID} <= set(runs):
            keys = ("brokers", "predicted_ms")
            pairs.append(all(runs["ffd"][k] == runs[HYBRID][k] for k in keys))
    if pairs:
        yield (
            f"In {sum(pairs)} of {len(pairs)} plans the hybrid comes to the same as "
            "FFD (brokers and mean prediction): the first feasible set in order of "
            "latency alone is what first fit takes, unless it cannot be completed."
        )


def measured(result: Result) -> list[str]:
    """What measured data shows, or that there is none."""
    found = {record["kind"]: record for record in result["measured"]}
    if not found:
        return [
            "Measured data: none. This version has no bundled data, and no --measured "
            "directory was named; Table I is on simulated data only."
        ]
    one = next(iter(found.values()))
    parts = []
    for kind, record in found.items():
        tests = [each["test"]["mean"] for each in record["sets"]]
        held = f"{r2_text(min(tests))} to {r2_text(max(tests))}"
        parts.append(f"{EVALUATED[kind]} {held}")
    said = [
        f"On {one['source']} data of our own broker ({one['cores']:g} of a machine's "
        f"cores): R^2 on held-back configurations, by k, {'; '.join(parts)}."
    ]
    if one["most"]:
        most = ", ".join(f"{rate:g} at {p} ms" for p, rate in one["most"].items())
        said.append(
            f"Largest rates of a topic alone there, messages/s within "
            f"{one['target_ms']:g} ms: {most}."
        )
    return said


def unfinished(result: Result) -> list[str]:
    """Searches for networks that were ended early."""
    found = [
        f"{record['kind']} k = {record['topics'] or 'all'}"
        for record in result["learned"]
        if not record["converged"] and record["kind"] != PAPER_200
    ]
    if not found:
        return []
    return [
        "The search for the weights of a network was ended after its most iterations, "
        f"not because it had converged: {', '.join(found)}."
    ]


def verdict(result: Result) -> str:
    """What was checked, and what is not there."""
    cells = result["cells"] - result["cells_missing"]
    found = len(result["problems"])
    checks = "all checks passed" if not found else f"{counted(found, 'check')} failed"
    return " ".join(
        [
            f"{counted(cells, 'cell')}: {checks} (every topic placed once, at most k a "
            "broker, predicted within the margin when asked again, search never with "
            "more brokers than the others, no bound above any plan; no configuration "
            "on two sides, models the same when read again, ours monotone).",
            *_missing(result),
        ]
    )


def _missing(result: Result) -> Iterator[str]:
    if result["cells_missing"]:
        cells = counted(result["cells_missing"], "cell")
        yield f"Not complete: {cells} not done yet; the same command goes on."
    if result["cells_of_other_code"]:
        kept = counted(result["cells_of_other_code"], "cell")
        yield f"{kept} kept from earlier code; --force computes all again."
