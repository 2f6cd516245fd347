"""The reports of `brokerwise latency evaluate` and `train`, from what they print as
JSON and, for an evaluation, its details."""

from collections.abc import Iterator, Sequence

from brokerwise.report.html import Fact, Table
from brokerwise.report.latency_plots import plots, scatter
from brokerwise.report.latency_sentences import (
    KINDS,
    Result,
    evaluation_answer,
    least,
    r2_text,
    score_table,
    source_lines,
    training_answer,
    training_table,
    verdict_table,
)
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.page import Page
from brokerwise.report.repeating import how_to_repeat


def page_of(result: Result) -> Page:
    judged = verdict_table(result)
    tables = [score_table(result), *([] if judged is None else [judged])]
    return Page(
        title="How well latencies are predicted",
        question="How well are latencies of topics on one broker predicted?",
        answer=evaluation_answer(result),
        facts=list(_facts(result)),
        tables=tables,
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def training_page_of(result: Result) -> Page:
    """The report of a training."""
    tables = [training_table(result)]
    if result["candidates"]:
        tables.append(_candidates(result))
    return Page(
        title=f"Latency model {result['out']}",
        question="How well does the model predict latencies?",
        answer=training_answer(result),
        facts=list(_training_facts(result)),
        tables=tables,
        plots=[scatter(result, each) for each in result["details"]["points"]],
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    sets = result["sets"]
    for kind in sets[0]["kinds"]:
        scores = [each["kinds"][kind]["test"]["mean"] for each in sets]
        worst = least(scores)
        yield Fact(f"R^2, {KINDS[kind]}", worst, "the least, on unseen configurations")
        if result["target_ms"] is not None:
            verdicts = [each["kinds"][kind]["verdicts"] for each in sets]
            yield from _wrong(KINDS[kind], verdicts)


def _wrong(who: str, verdicts: Sequence[Result]) -> Iterator[Fact]:
    """How many predictions about the target are wrong, in both ways."""
    accepted, missed, met, refused = (
        sum(each[name] for each in verdicts)
        for name in ("accepted", "missed", "met", "refused")
    )
    yield Fact(
        f"False negatives, {who}",
        percent(missed / accepted) if accepted else "none",
        f"{missed:,} of {counted(accepted, 'topic')} predicted to meet the target "
        "missed it",
    )
    yield Fact(
        f"False positives, {who}",
        percent(refused / met) if met else "none",
        f"{refused:,} of {counted(met, 'topic')} that met the target were not "
        "predicted to",
    )


def _training_facts(result: Result) -> Iterator[Fact]:
    yield Fact("Topics on a broker", f"up to {result['most_topics']}")
    tests = [each["test"] for each in result["by_topics"].values()]
    yield Fact("R^2", least(tests), "the least, on what was held back")
    if result["target_ms"] is not None:
        verdicts = [each["verdicts"] for each in result["by_topics"].values()]
        yield from _wrong("on what was held back", verdicts)
    for name, (low, high) in result["ranges"].items():
        ends = f"{significant(low)} to {significant(high)}"
        yield Fact(name, ends, "of the topics that it was trained on")
    if result["model_kind"] == "unified":
        parameters = result["parameters"]
        factor = significant(parameters["factor"])
        yield Fact(
            "A message takes",
            f"{factor} times its processing",
            f"and {significant(parameters['overhead_ms'])} ms of a core: what fits "
            "best",
        )


def _candidates(result: Result) -> Table:
    rows = [
        (
            "taken" if each["chosen"] else "",
            *(f"{each[name]:g}" for name in _GROWTH),
            r2_text(each["r2"]),
        )
        for each in result["candidates"]
    ]
    return Table(
        "What was tried: R^2 in cross-validation, mean over numbers of topics",
        ("", *_GROWTH, "R^2"),
        rows,
    )


_GROWTH = ("blend", "rounds", "rate", "leaves", "least")


def _inputs(result: Result) -> list[Fact]:
    facts = []
    if result.get("tables"):
        for each in result["sources"]:
            facts.append(Fact("Table", each["path"], f"digest {each['digest']}"))
    else:
        lines = source_lines(result["sources"])
        for each, line in zip(result["sources"], lines, strict=True):
            facts.append(Fact("Latency data", each["path"], line))
            facts.append(Fact("Digest of the data", each["digest"]))
    if result.get("model"):
        facts.append(Fact("Model", result["model"], result["model_digest"]))
    if result.get("out"):
        facts.append(Fact("Model", result["out"], result["digest"]))
    facts += [Fact("Remark", remark) for remark in result["remarks"]]
    return [
        *facts,
        Fact("Seed", f"{result['seed']}"),
        *how_to_repeat(result),
    ]
