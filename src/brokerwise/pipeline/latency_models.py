"""Latency models: trained on the latency data of several directories, and evaluated on
latency data, on tables of others, or as they were trained before."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import version
from typing import Any

import numpy as np

from brokerwise.latency.evaluation import (
    TEST_SHARE,
    Choice,
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
from brokerwise.latency.models import EVALUATED, KINDS, UNIFIED, LatencyModel
from brokerwise.latency.samples import LEAST, Samples, Subject, join, refuse_too_few
from brokerwise.latency.training import (
    Candidate,
    Matrix,
    fit_unified,
    learners,
    table_learners,
    train_paper,
    train_unified,
)
from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.storage.latency_data import LatencyData, read_latency_data
from brokerwise.storage.latency_model import (
    HEADER,
    ModelHeader,
    Origin,
    StoredModel,
    TrainedOn,
    read_latency_model,
    stage_latency_model,
)
from brokerwise.storage.latency_table import Columns, LatencyTable, read_latency_table
from brokerwise.storage.output import new_output
from brokerwise.storage.place import Place

_SAME = ("cores", "message_bytes")
_TRAFFIC = ("rate_each", "messages", "longest_seconds")
CURVE_SPLITS = 3
"""Learning curves are means over no more splits than this."""
MODEL = "model"


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows of one kind of broker, and where they come from.

    Attributes
    ----------
    most
        The largest number of topics of a configuration.
    late
        Configurations that were left out: their messages were sent too late.
    larger
        Configurations that were left out: they have more topics than asked for.
    remarks
        What should be known about the mixture.
    """

    subject: Subject
    sources: Sequence[TrainedOn]
    most: int
    late: int
    larger: int
    remarks: Sequence[str]


def gather(
    places: Sequence[Place], most: int | None = None, *, learn: bool = True
) -> TrainingData:
    """All configurations of up to `most` topics.

    Raises InputError for data of different brokers, for data that is there twice,
    and, if it is to `learn` from, for too few configurations.
    """
    every = [(place, read_latency_data(place)) for place in places]
    _refuse_twice(every)
    cores = _same_broker(every)
    used = [_used(data, most) for _, data in every]
    rows = join([part for part, _, _ in used])
    what = ", ".join(str(place) for place in places)
    if not len(rows):
        raise InputError(f"{what}: found no configurations that can be used")
    subject = Subject.of(rows, cores)
    largest = int(subject.samples.topics.max())
    if most is not None and largest < most:
        raise InputError(
            f"--k {most}: {what} has configurations of up to {largest} topics",
            hint=f"Measure or simulate larger ones, or use --k {largest}.",
        )
    if learn:
        refuse_too_few(subject.samples, largest, what)
    sources = [
        _trained_on(place, data, part)
        for (place, data), (part, _, _) in zip(every, used, strict=True)
    ]
    return TrainingData(
        subject,
        sources,
        largest,
        late=sum(late for _, late, _ in used),
        larger=sum(larger for _, _, larger in used),
        remarks=list(_remarks([data for _, data in every])),
    )


def _used(data: LatencyData, most: int | None) -> tuple[LatencyRows, int, int]:
    """The rows to learn from; how many configurations were late, or too large."""
    rows = data.rows
    listed = data.header.settings.get("late") or ()
    late = np.isin(rows.configuration, np.array(list(listed), np.int64))
    larger = ~late & (rows.sharing() > (most or np.inf))
    kept = rows.take(np.flatnonzero(~late & ~larger))
    numbers = rows.configuration
    return kept, len(np.unique(numbers[late])), len(np.unique(numbers[larger]))


def _trained_on(place: Place, data: LatencyData, rows: LatencyRows) -> TrainedOn:
    return TrainedOn(
        path=place.absolute().without_credentials().uri,
        digest=data.header.digest,
        source=data.header.source,
        configurations={str(k): len(sets) for k, sets in rows.sets()},
        settings=dict(data.header.settings),
    )


def _refuse_twice(every: Sequence[tuple[Place, LatencyData]]) -> None:
    seen: dict[str, Place] = {}
    for place, data in every:
        first = seen.setdefault(data.header.digest, place)
        if first is not place:
            raise InputError(
                f"{place} holds the same rows as {first}",
                hint="Name each directory once.",
            )


def _same_broker(every: Sequence[tuple[Place, LatencyData]]) -> float:
    """The cores of the broker that all data is of."""
    for name in _SAME:
        found = [(p, d.header.settings.get(name)) for p, d in every]
        stated = [(place, value) for place, value in found if value is not None]
        if len({value for _, value in stated}) > 1:
            raise InputError(
                f"data of different brokers: one model is for one kind of broker, and "
                f"{name.replace('_', ' ')} differ",
                details=[f"{place}: {value}" for place, value in stated],
                hint="Train a model for each.",
            )
    place, data = every[0]
    cores = next((d.header.settings["cores"] for _, d in every if _has_cores(d)), None)
    if cores is None:
        raise InputError(
            f"{place}/latency.json: found cores {data.header.settings.get('cores')!r} "
            "in settings, expected a number above 0"
        )
    return float(cores)


def _has_cores(data: LatencyData) -> bool:
    cores = data.header.settings.get("cores")
    return isinstance(cores, int | float) and 0 < cores < np.inf


def _remarks(every: Sequence[LatencyData]) -> Iterable[str]:
    sources = {data.header.source for data in every}
    if len(sources) > 1:
        yield f"{' and '.join(sorted(sources))} data together"
    for name in _TRAFFIC:
        values = {data.header.settings.get(name) for data in every}
        if len(values) > 1:
            said = ", ".join(sorted(str(value) for value in values))
            yield f"data with different {name.replace('_', ' ')} ({said}) together"


@dataclass(frozen=True)
class TrainingRequest:
    """What to train. `most` is the largest number of topics; all there are if None."""

    kind: str = UNIFIED
    most: int | None = None
    seed: int = 0
    target: Target | None = None
    share: float = TEST_SHARE

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(
                f"kind: found {self.kind!r}, expected {' or '.join(KINDS)}"
            )


@dataclass(frozen=True, eq=False)
class TrainingResult:
    """A model that was written."""

    header: ModelHeader
    model: LatencyModel
    gathered: TrainingData
    check: "Check"


@dataclass(frozen=True, eq=False)
class Check:
    """What a model of a part of the configurations comes to on the others.

    Attributes
    ----------
    scores
        By number of topics.
    rows, predicted
        The rows that were held back, and what was predicted for each (logarithm).
    """

    scores: Mapping[str, Any]
    choice: Choice[Candidate] | None
    rows: Int64s
    predicted: Float64s


def train_directory(
    data: Sequence[Place],
    out: Place,
    request: TrainingRequest,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> TrainingResult:
    """Read, learn from a part to see how good that is, learn from everything, write.

    The scores are of the model of a part, on the rest; the model that is written has
    learned from all of it, in the same way.
    """
    progress = progress or Stopwatch()
    with new_output(out, HEADER, force=force) as output:
        with progress.stage("read"):
            gathered = gather(data, request.most)
        with progress.stage("check"):
            check = held_out(gathered.subject, request)
        with progress.stage("train"):
            model = _final(gathered.subject, request, check.choice)
        with progress.stage("write"):
            origin = _origin(gathered, request, check, progress.seconds)
            header = stage_latency_model(output, model, origin)
        output.commit(header.as_json())
    return TrainingResult(header, model, gathered, check)


def held_out(subject: Subject, request: TrainingRequest) -> Check:
    """Train on a part of the configurations, predict the others."""
    samples = subject.samples
    train, test = samples.part(samples.every, request.share, request.seed)
    model, choice = _trained(subject, train, request)
    predicted = subject.predicted(model, test)
    judged = {}
    if request.target is not None:
        judged = verdicts_by_topics(samples, test, predicted, request.target)
    learned = by_topics(samples, train, subject.predicted(model, train))
    sizes = {k: len(groups) for k, groups in samples.groups(test)}
    scores = {
        str(k): {
            "configurations": count,
            "held_out": sizes[k],
            "train": learned[k],
            "test": score,
            "verdicts": judged[k].as_json() if k in judged else None,
        }
        for (k, score), count in zip(
            by_topics(samples, test, predicted).items(),
            samples.sizes().values(),
            strict=True,
        )
    }
    return Check(scores, choice, test, predicted)


def _trained(
    subject: Subject, rows: Int64s, request: TrainingRequest
) -> tuple[LatencyModel, Choice[Candidate] | None]:
    if request.kind == UNIFIED:
        return train_unified(subject, rows, seed=request.seed)
    return train_paper(subject, rows, seed=request.seed), None


def _final(
    subject: Subject, request: TrainingRequest, choice: Choice[Candidate] | None
) -> LatencyModel:
    every = subject.samples.every
    if choice is not None:
        return fit_unified(subject, every, choice.best)
    return train_paper(subject, every, seed=request.seed)


def _origin(
    gathered: TrainingData,
    request: TrainingRequest,
    check: Check,
    seconds: Mapping[str, float],
) -> Origin:
    target = request.target
    return Origin(
        trained_on=gathered.sources,
        rows=gathered.subject.rows,
        scores={
            "held_out_share": request.share,
            "target_ms": None if target is None else target.ms,
            "margin": None if target is None else target.margin,
            "by_topics": check.scores,
        },
        candidates=[] if check.choice is None else _candidates(check.choice),
        seed=request.seed,
        version=version("brokerwise"),
        seconds=dict(seconds),
    )


def _candidates(choice: Choice[Candidate]) -> list[dict[str, Any]]:
    rows = zip(choice.candidates, choice.scores, choice.means, strict=True)
    return [
        {
            **candidate.as_json(),
            "r2": mean,
            "r2_by_topics": {str(k): score for k, score in scores.items()},
            "chosen": candidate == choice.best,
        }
        for candidate, scores, mean in rows
    ]


@dataclass(frozen=True)
class EvaluationOptions:
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
class EvaluationResult:
    """Outcomes by number of topics, or by table; what they were found on."""

    outcomes: Sequence[Outcome]
    gathered: TrainingData | None = None
    tables: Sequence[LatencyTable] = ()
    model: StoredModel | None = None
    left_out: int = 0


def evaluate_data(
    places: Sequence[Place],
    options: EvaluationOptions,
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
    """The kinds asked for, on latency data."""
    progress = progress or Stopwatch()
    with progress.stage("read"):
        gathered = gather(places, most)
    found = _learned(
        gathered.subject.samples, learners(gathered.subject), options, progress
    )
    return EvaluationResult(found, gathered)


def evaluate_tables(
    places: Sequence[Place],
    columns: Columns,
    options: EvaluationOptions,
    *,
    progress: Progress | None = None,
) -> EvaluationResult:
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
    return EvaluationResult(outcomes, tables=tables)


def evaluate_model(
    model: Place,
    places: Sequence[Place],
    target: Target | None,
    *,
    most: int | None = None,
    progress: Progress | None = None,
) -> EvaluationResult:
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
    return EvaluationResult(outcomes, gathered, model=stored, left_out=left_out)


def _learned(
    samples: Samples,
    made: Mapping[str, Learn],
    options: EvaluationOptions,
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
    model: Place, stored: StoredModel, gathered: TrainingData
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
