"""How well latencies are predicted: on latency data, on others' tables, or by a model
that was trained before."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from brokerwise.latency.evaluation import (
    Evaluation,
    Learn,
    Splits,
    Target,
    by_topics,
    evaluate,
    learning_curve,
    mean_and_deviation,
    verdicts_by_topics,
)
from brokerwise.latency.models import EVALUATED
from brokerwise.latency.samples import LEAST, Samples, Subject
from brokerwise.latency.training import Matrix, learners, table_learners
from brokerwise.model.arrays import Bools, Float64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.latency_gathering import Gathered, gather
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.storage.latency_model import StoredModel, read_latency_model
from brokerwise.storage.latency_table import Columns, LatencyTable, read_latency_table
from brokerwise.storage.place import Place

CURVE_SPLITS = 3
"""Learning curves are means over no more splits than this."""

MODEL = "model"


@dataclass(frozen=True)
class Options:
    """How to evaluate. Kinds are learned anew for each split."""

    splits: Splits = field(default_factory=Splits)
    target: Target | None = None
    kinds: tuple[str, ...] = EVALUATED
    curves: bool = True

    def __post_init__(self) -> None:
        unknown = [kind for kind in self.kinds if kind not in EVALUATED]
        if unknown or not self.kinds:
            raise InputError(
                f"kinds: found {', '.join(map(repr, unknown)) or 'none'}, expected "
                f"{', '.join(EVALUATED)}"
            )


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was found for configurations of one number of topics.

    Attributes
    ----------
    kinds
        For each kind, or for the model, its scores.
    curves
        For each kind its learning curve.
    observed_ms, predicted_ms
        p90 of each row that was held back at least once, and what each kind
        predicted when it was first.
    """

    name: str
    topics: int
    configurations: int
    kinds: Mapping[str, Mapping[str, Any]]
    curves: Mapping[str, Sequence[Mapping[str, float]]]
    observed_ms: Float64s
    predicted_ms: Mapping[str, Float64s]


@dataclass(frozen=True, eq=False)
class Evaluated:
    """Outcomes by number of topics, or by table; what they were found on."""

    outcomes: Sequence[Outcome]
    gathered: Gathered | None = None
    tables: Sequence[LatencyTable] = ()
    model: StoredModel | None = None
    left_out: int = 0


def evaluate_data(
    places: Sequence[Place],
    options: Options,
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> Evaluated:
    """The kinds asked for, on latency data."""
    progress = progress or Stopwatch()
    with progress.stage("read"):
        gathered = gather(places, most)
    found = _learned(
        gathered.subject.samples, learners(gathered.subject), options, progress
    )
    return Evaluated(found, gathered)


def evaluate_tables(
    places: Sequence[Place],
    columns: Columns,
    options: Options,
    *,
    progress: Progress | None = None,
) -> Evaluated:
    """The kinds asked for, on tables of others, each by itself."""
    progress = progress or Stopwatch()
    with progress.stage("read"):
        tables = [read_latency_table(place, columns) for place in places]
        matrices = [_matrix(table) for table in tables]
    outcomes = []
    for table, matrix in zip(tables, matrices, strict=True):
        made = table_learners(matrix)
        for found in _learned(matrix.samples, made, options, progress):
            outcomes.append(replace(found, name=str(table.place)))
    return Evaluated(outcomes, tables=tables)


def evaluate_model(
    model: Place,
    places: Sequence[Place],
    target: Target | None,
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> Evaluated:
    """A model on data that it was not trained on.

    Configurations that it has seen are left out. Raises InputError if there are no
    others, and for more topics on a broker than it knows.
    """
    progress = progress or Stopwatch()
    with progress.stage("read"):
        stored = read_latency_model(model)
        gathered = gather(places, most, learn=False)
        _refuse_other_brokers(model, stored, gathered)
        rows = gathered.subject.rows
        seen = stored.has_seen(rows)
        _refuse_known(model, places, seen)
        subject = Subject.of(rows.take(np.flatnonzero(~seen)), gathered.subject.cores)
    with progress.stage("predict"):
        outcomes = _predicted(stored, subject, target)
    left_out = len(np.unique(rows.configuration[seen]))
    return Evaluated(outcomes, gathered, model=stored, left_out=left_out)


def _learned(
    samples: Samples,
    made: Mapping[str, Learn],
    options: Options,
    progress: Progress,
) -> list[Outcome]:
    """What each kind comes to on samples, by number of topics."""
    found: dict[str, Evaluation] = {}
    curves: dict[str, list[Any]] = {}
    for kind in options.kinds:
        with progress.stage(kind):
            splits = options.splits
            found[kind] = evaluate(samples, made[kind], splits, options.target)
        if options.curves:
            few = replace(splits, count=min(splits.count, CURVE_SPLITS))
            with progress.stage(f"{kind} curve"):
                curves[kind] = learning_curve(samples, made[kind], few)
    return [
        Outcome(
            name=str(k),
            topics=k,
            configurations=size,
            kinds={kind: each.as_json(k) for kind, each in found.items()},
            curves={
                kind: [asdict(point) for point in points if point.topics == k]
                for kind, points in curves.items()
            },
            **_points(samples, k, {kind: each.held for kind, each in found.items()}),
        )
        for k, size in samples.sizes().items()
    ]


def _predicted(
    stored: StoredModel, subject: Subject, target: Target | None
) -> list[Outcome]:
    samples = subject.samples
    rows = samples.every
    logs = subject.predicted(stored.model, rows)
    scores = by_topics(samples, rows, logs)
    judged = {} if target is None else verdicts_by_topics(samples, rows, logs, target)
    return [
        Outcome(
            name=str(k),
            topics=k,
            configurations=size,
            kinds={
                MODEL: {
                    "train": None,
                    "test": mean_and_deviation([scores[k]]),
                    "verdicts": judged[k].as_json() if k in judged else None,
                }
            },
            curves={},
            **_points(samples, k, {MODEL: logs}),
        )
        for k, size in samples.sizes().items()
    ]


def _points(samples: Samples, k: int, held: Mapping[str, Float64s]) -> dict[str, Any]:
    shown = samples.topics == k
    for logs in held.values():
        shown &= ~np.isnan(logs)
    return {
        "observed_ms": np.exp(samples.logs[shown]),
        "predicted_ms": {kind: np.exp(logs[shown]) for kind, logs in held.items()},
    }


def _matrix(table: LatencyTable) -> Matrix:
    """The table for learners; every row counts as of its largest configuration."""
    topics = np.full(len(table), table.topics, np.int32)
    samples = Samples(table.group, topics, np.log(table.p90_ms))
    (size,) = samples.sizes().values()
    if size < LEAST:
        raise InputError(
            f"{table.place}: found {size} configurations (values of "
            f"{table.columns.group!r}), expected at least {LEAST} to learn from"
        )
    return Matrix(samples, table.inputs)


def _refuse_other_brokers(
    model: Place, stored: StoredModel, gathered: Gathered
) -> None:
    known = stored.header.most_topics
    if gathered.most > known:
        raise InputError(
            f"{model} knows up to {known} topics on a broker; the data has "
            f"configurations of up to {gathered.most}",
            hint=f"Evaluate the smaller ones with --k {known}, or train a model with "
            "larger ones.",
        )
    cores = {each.settings.get("cores") for each in stored.header.trained_on}
    if gathered.subject.cores not in cores:
        said = ", ".join(sorted(str(each) for each in cores))
        raise InputError(
            f"{model} is for brokers with {said} cores, the data is of brokers with "
            f"{gathered.subject.cores:g}"
        )


def _refuse_known(model: Place, places: Sequence[Place], seen: Bools) -> None:
    if seen.all():
        raise InputError(
            f"{model} was trained on all of {', '.join(map(str, places))}: how well "
            "it predicts what it has seen says nothing",
            hint="Name data that it was not trained on. Without --model, parts of the "
            "data are held back.",
        )
