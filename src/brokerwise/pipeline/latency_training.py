"""From latency data to a model directory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

from brokerwise.latency.evaluation import (
    TEST_SHARE,
    Choice,
    Target,
    by_topics,
    verdicts_by_topics,
)
from brokerwise.latency.models import KINDS, UNIFIED, LatencyModel
from brokerwise.latency.samples import Subject
from brokerwise.latency.training import (
    Candidate,
    fit_unified,
    train_paper,
    train_unified,
)
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.latency_gathering import Gathered, gather
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.storage.latency_model import (
    HEADER,
    ModelHeader,
    Origin,
    stage_latency_model,
)
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class Request:
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
class Trained:
    """A model that was written."""

    header: ModelHeader
    model: LatencyModel
    gathered: Gathered
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
    request: Request,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Trained:
    """Read, learn from a part to see how good that is, learn from everything, write.

    The scores are of the model of a part, on the rest; the model that is written has
    learned from all of it, in the same way.
    """
    progress = progress or Stopwatch()
    output = Output.begin(out, HEADER, force=force)
    try:
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
    except BaseException:
        output.abort()
        raise
    return Trained(header, model, gathered, check)


def held_out(subject: Subject, request: Request) -> Check:
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
    subject: Subject, rows: Int64s, request: Request
) -> tuple[LatencyModel, Choice[Candidate] | None]:
    if request.kind == UNIFIED:
        return train_unified(subject, rows, seed=request.seed)
    return train_paper(subject, rows, seed=request.seed), None


def _final(
    subject: Subject, request: Request, choice: Choice[Candidate] | None
) -> LatencyModel:
    every = subject.samples.every
    if choice is not None:
        return fit_unified(subject, every, choice.best)
    return train_paper(subject, every, seed=request.seed)


def _origin(
    gathered: Gathered,
    request: Request,
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
