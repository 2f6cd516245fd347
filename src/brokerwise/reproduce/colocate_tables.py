"""Table I and Figures 1 to 4 of `reproduce colocate` in numbers."""

from collections.abc import Iterator
from statistics import median

from brokerwise.latency.models import PAPER, PAPER_200, UNIFIED
from brokerwise.reproduce.account import (
    NONE,
    Columns,
    MissingError,
    Result,
    claims_table,
    column,
    filled,
    matching,
    table,
)
from brokerwise.reproduce.colocate_claims import learned_of
from brokerwise.reproduce.colocate_settings import OPENING, OPENINGS_TOPICS
from brokerwise.show.numbers import significant
from brokerwise.show.tables import Table

MODEL_NAMES = {PAPER: "the paper's recipe", UNIFIED: "our model"}
"""What plans are made with."""
EVALUATED_NAMES = {
    PAPER: "the paper's recipe",
    PAPER_200: "the paper's recipe after 200 iterations",
    UNIFIED: "our model",
}
HYBRID = f"hybrid {OPENING}"
ALGORITHMS = {
    "ffd": "FFD",
    "lfs": "LFS",
    HYBRID: f"LFS{OPENING} + FFD (hybrid)",
    "search": "search (ours)",
}
_PARTS = ("train", "test", "validation")
SEARCH = "search"


def learned(result: Result, kind: str, topics: int) -> Result | None:
    """What was learned from all configurations, for a number of topics."""
    try:
        return learned_of(result, kind, topics)
    except MissingError:
        return None


def curve(result: Result, kind: str, topics: int) -> list[tuple[int, Result]]:
    """Configurations learned from, and the scores then: ascending."""
    found = []
    for record in result["learned"]:
        same = record["kind"] == kind and record["topics"] in (0, topics)
        scores = record["scores"].get(str(topics)) if same else None
        if scores is not None:
            found.append((scores["train_rows"] // topics, scores))
    return sorted(found, key=lambda pair: pair[0])


def rows_of(result: Result, kind: str, label: str) -> list[Result]:
    """Means over requests by number of topics, ascending."""
    found = matching(result["plans"], kind=kind, label=label)
    return sorted(found, key=lambda row: row["topics"])


def openings(result: Result, kind: str) -> list[tuple[int, Result]]:
    """Figure 4: means over requests by k'."""
    found = [
        (int(row["label"].removeprefix("hybrid ")), row)
        for row in matching(result["plans"], kind=kind, topics=OPENINGS_TOPICS)
        if row["label"].startswith("hybrid ")
    ]
    return sorted(found, key=lambda pair: pair[0])


def r2_text(value: float | None) -> str:
    return NONE if value is None else f"{value:.3f}"


def ms_text(value: float) -> str:
    return f"{significant(value)} ms"


def share_text(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.2f} %"


def numbers_of(result: Result) -> list[int]:
    """The numbers of topics that may share a broker."""
    return list(range(1, result["setting"]["k"] + 1))


def tables(result: Result) -> list[Table]:
    """All of them that have rows."""
    return filled(
        claims_table("What the paper says, and what we find", result["claims"]),
        accuracy_table(result),
        measured_table(result),
        rates_table(result),
        verdicts_table(result),
        thresholds_table(result),
        sensitivity_table(result),
        curves_table(result),
        plans_table(result),
        openings_table(result),
    )


def compared(result: Result) -> list[Table]:
    """What a terminal has room for."""
    return filled(
        accuracy_table(result),
        measured_table(result),
        rates_table(result),
        thresholds_table(result),
        plans_table(result),
        openings_table(result),
    )


def accuracy_table(result: Result) -> Table:
    """Table I, theirs beside ours."""
    setting = result["setting"]
    return Table(
        f"Table I: R^2 of log p90, on simulated data of a {setting['cores']}-core "
        f"broker; {setting['alone']} configurations of one topic, {setting['each']:,} "
        f"of each larger number and {setting['validation']} more to validate",
        (
            *("k", "published train", "test", "validation"),
            *("recipe train", "test", "validation"),
            *("recipe, 200 iterations: train", "test", "validation"),
            *("our model train", "test", "validation"),
        ),
        list(_accuracy_rows(result)),
    )


def _accuracy_rows(result: Result) -> Iterator[tuple[str, ...]]:
    for k in numbers_of(result):
        models = [learned(result, kind, k) for kind in EVALUATED_NAMES]
        if not any(models):
            continue
        printed = result["published"]["accuracy"].get(str(k), {})
        cells = [r2_text(printed.get(part)) for part in _PARTS]
        for model in models:
            scores = model["scores"][str(k)] if model else {}
            cells += [r2_text(scores.get(part)) for part in _PARTS]
        yield (f"{k}", *cells)


def measured_table(result: Result) -> Table:
    """Table I on measured data: means over splits, and their deviation."""
    found = result["measured"]
    kinds = {record["kind"]: record for record in found}
    caption = "Table I on measured data"
    if found:
        one = found[0]
        caption = (
            f"Table I on {one['source']} data of our own broker, {one['cores']:g} "
            f"core{'' if one['cores'] == 1 else 's'}: R^2 of log p90, mean and "
            f"deviation over {one['splits']} splits with "
            f"{100 * one['held_out_share']:g} % of the configurations held back; "
            f"false negatives for a target of {one['target_ms']:g} ms"
        )
    rows: dict[int, list[str]] = {}
    for kind in EVALUATED_NAMES:
        for each in kinds[kind]["sets"] if kind in kinds else ():
            row = rows.setdefault(each["topics"], [f"{each['configurations']}"])
            verdicts = each["verdicts"]
            row += [_spread(each[part]) for part in ("train", "test")]
            row.append(share_text(verdicts["missed_share"]))
    return Table(
        caption,
        (
            *("k", "configurations"),
            *(
                f"{EVALUATED_NAMES[kind]}: {what}"
                for kind in EVALUATED_NAMES
                if kind in kinds
                for what in ("train", "test", "false negatives")
            ),
        ),
        [(f"{k}", *row) for k, row in sorted(rows.items())],
    )


def _spread(found: Result) -> str:
    return f"{found['mean']:.3f} ± {found['deviation']:.3f}"


def rates_table(result: Result) -> Table:
    """Figure 2a: the largest rates of a topic alone."""
    models = {kind: learned(result, kind, 1) for kind in MODEL_NAMES}
    rows = [
        (
            f"{p} ms",
            f"{rate}",
            *(
                f"{model['single']['most'][p]}" if model else NONE
                for model in models.values()
            ),
            f"{result['most_planned'].get(p, NONE)}",
        )
        for p, rate in result["published"]["most"].items()
    ]
    return Table(
        "Figure 2a: the largest rate (messages/s) of a topic alone that is predicted "
        "to meet 1 s, and the largest in the requests of Figures 3 and 4",
        ("processing", "published", *MODEL_NAMES.values(), "in requests"),
        rows if any(models.values()) else [],
    )


def verdicts_table(result: Result) -> Table:
    """Figures 2c and 2d: mistakes about the target."""
    rows = []
    for kind, name in MODEL_NAMES.items():
        for k in numbers_of(result):
            model = learned(result, kind, k)
            if model is not None:
                rows.append((f"{name}, k = {k}", *_verdicts(model["verdicts"][str(k)])))
    return Table(
        "Figures 2c, 2d: mistakes on test and validation data. A false negative is "
        "predicted to meet the target, as a share of those, and misses it; a false "
        "positive meets it and is predicted not to, as a share of those that meet it",
        (
            *("model", "topics", "above the target"),
            *("false negatives", "false positives"),
            *("with margin: false negatives", "false positives"),
        ),
        rows,
    )


def _verdicts(found: Result) -> tuple[str, ...]:
    plain, careful = found["without_margin"], found["with_margin"]
    return (
        f"{found['rows']}",
        f"{found['rows'] - plain['met']}",
        *(
            f"{one[count]} ({share_text(one[f'{count}_share'])})"
            for one in (plain, careful)
            for count in ("missed", "refused")
        ),
    )


def thresholds_table(result: Result) -> Table:
    """Figure 1d: threshold rates, by what is beside the topic."""
    found = result["sensitivity"].get("d")
    rows = []
    for count, loads in found["thresholds"].items() if found else ():
        for load, values in loads.items():
            known = [value or 0 for value in values]
            beside = f"{count} topics, load {load}" if load != "alone" else "alone"
            printed = result["published"]["thresholds"].get(count)
            rows.append(
                (
                    beside,
                    f"{printed}",
                    f"{median(known):g}",
                    f"{min(known):g}",
                    f"{max(known):g}",
                )
            )
    return Table(
        "Figure 1d: the largest rate (messages/s) of a topic of 20 ms with a p90 of at "
        "most 1 s, beside random topics with this load in parts of the cores; the "
        "paper does not print its load",
        ("beside", "published", "ours, median", "least", "most"),
        rows,
    )


def sensitivity_table(result: Result) -> Table:
    """Figures 1a and 1b, simulated."""
    rows = []
    for part, what in (("a", "subscribers"), ("b", "topics beside it")):
        found = result["sensitivity"].get(part)
        for p, values in found["curves"].items() if found else ():
            points = zip(found["x"], values, strict=True)
            said = ", ".join(f"{x}: {significant_ms(y)}" for x, y in points)
            rows.append((f"1{part}, {p} ms", what, said))
    return Table(
        "Figures 1a, 1b: p90 (ms), simulated. Published for 1b: "
        f"{result['published']['background_ms'][0]:g} ms alone, "
        f"{result['published']['background_ms'][1]:g} ms when saturated",
        ("figure, processing", "by", "p90 (ms)"),
        rows,
    )


def significant_ms(value: float) -> str:
    return ms_text(value).removesuffix(" ms")


def curves_table(result: Result) -> Table:
    """Figures 2e and 2f."""
    rows = [
        (
            f"{MODEL_NAMES[kind]}, k = {k}, {size}",
            share_text(1 - scores["train"]),
            share_text(1 - scores["validation"]),
        )
        for kind in MODEL_NAMES
        for k in (4, 6)
        for size, scores in curve(result, kind, k)
        if "validation" in scores
    ]
    return Table(
        "Figures 2e, 2f: errors (1 - R^2) by the number of configurations to learn "
        f"from; published: about {100 * result['published']['curve_error']:g} % with "
        "all",
        ("model, k, configurations", "training", "validation"),
        rows,
    )


def plans_table(result: Result) -> Table:
    """Figure 3."""
    most = [f"{100 * share:g} %" for share in result["published"]["missed"]["3"]]
    numbers = sorted({row["topics"] for row in result["plans"]})

    def label(row: Result) -> str:
        name, model = ALGORITHMS[row["label"]], MODEL_NAMES[row["kind"]]
        return f"{row['topics']} topics, {name}, {model}"

    return table(
        f"Figure 3: means of {result['setting']['requests']} requests; k = "
        f"{result['setting']['k']}, target 1 s, margin 10 %; truth is simulated. "
        f"Published: up to {most[0]} of messages and {most[1]} of topics over",
        [("topics, algorithm, model", label), *_MEASURES],
        [
            row
            for number in numbers
            for kind in MODEL_NAMES
            for name in ALGORITHMS
            for row in matching(rows_of(result, kind, name), topics=number)
        ],
    )


def openings_table(result: Result) -> Table:
    """Figure 4."""
    most = [f"{100 * share:g} %" for share in result["published"]["missed"]["4"]]
    several = len(openings(result, PAPER)) > 1
    kinds = (PAPER, UNIFIED) if several else ()

    def label(row: Result) -> str:
        opening = row["label"].removeprefix("hybrid ")
        return f"k' = {opening}, {MODEL_NAMES[row['kind']]}"

    return table(
        f"Figure 4: {OPENINGS_TOPICS} topics, the hybrid by k', the same requests. "
        f"Published: up to {most[0]} of messages and {most[1]} of topics over",
        [("k', model", label), *_MEASURES],
        [row for kind in kinds for _, row in openings(result, kind)],
    )


def _planning(row: Result) -> str:
    stopped = " (stopped)" if row["stopped"] else ""
    return f"{1000 * row['seconds']:,.1f} ms{stopped}"


_MEASURES: Columns[Result] = (
    column("brokers", "brokers", "{:.1f}".format),
    column("bound", "bound", "{:.1f}".format),
    ("proven", lambda row: f"{row['proven']} of {row['requests']}"),
    ("planning", _planning),
    ("CPU", lambda row: f"{100 * row['cpu']:.1f} %"),
    column("mean p90", "p90_ms", ms_text),
    column("messages over", "messages_over", share_text),
    column("topics over", "topics_over", share_text),
)
"""What Figures 3 and 4 show of a row."""
