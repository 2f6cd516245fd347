"""From topics and a latency model to brokers: a plan that is written, audited, and then
appears; or one in memory, saved if that is wanted. All of it in this process, without
Spark."""

from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import Any

from brokerwise.auditing.colocation import (
    audit_staged_colocation,
    colocation_violations,
)
from brokerwise.auditing.findings import Violation
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.latency import Predictor
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.pipeline.feedback import Feedback, read_feedback
from brokerwise.pipeline.plans import refuse_wrong
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.planners.colocate.problem import DEFAULT_MARGIN, Options, Problem
from brokerwise.planners.colocate.solve import solve
from brokerwise.storage.colocation_plan import (
    Background,
    ColocationHeader,
    Origin,
    stage_colocation_plan,
    topics_table,
    write_colocation_plan,
)
from brokerwise.storage.latency_model import StoredModel, read_latency_model
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.plan import HEADER
from brokerwise.storage.tables import small_table_digest
from brokerwise.storage.topic_table import read_topic_source

NOWHERE = "in memory"
"""Where a plan says its topics are that are nowhere on disk."""


@dataclass(frozen=True)
class Request:
    """What is asked of a plan; `target_ms` is for topics that have none. `from_plan`
    is one whose brokers were `observed`: latency data of them."""

    k: int
    target_ms: float | None = None
    margin: float = DEFAULT_MARGIN
    from_plan: Place | None = None
    observed: Place | None = None

    def __post_init__(self) -> None:
        if (self.from_plan is None) != (self.observed is None):
            raise InputError(
                "a plan that was observed needs both: the plan (--from) and latency "
                "data of its brokers (--observed)",
                hint="Measure them: brokerwise latency measure --plan PLAN --out DIR",
            )

    def feedback(self, topics: TopicTable) -> Feedback | None:
        if self.from_plan is None or self.observed is None:
            return None
        return read_feedback(self.from_plan, self.observed, topics)


@dataclass(frozen=True, eq=False)
class Colocated:
    """A plan, and what it is for; `header` is None if it was infeasible and so nothing
    was written. `left_out` topics of a workload are not processed by brokers."""

    plan: ColocationPlan
    header: ColocationHeader | None
    topics: TopicTable
    model: StoredModel
    source: Origin
    feedback: Feedback | None
    left_out: int = 0


def colocate_directory(
    source: Place,
    model: Place,
    out: Place,
    request: Request,
    options: Options,
    *,
    force: bool = False,
    progress: Progress | None = None,
) -> Colocated:
    """Plan, write, audit, and let the plan appear, or nothing.

    `source` is a CSV file of topics or a workload. A place that may not be written is
    refused before any work. A plan that the audit refuses, and one that is
    infeasible, is not written.
    """
    progress = progress or Stopwatch()
    output = Output.begin(out, HEADER, force=force)
    try:
        with progress.stage("read"):
            read = read_topic_source(source, request.target_ms)
            stored = read_latency_model(model)
            feedback = request.feedback(read.table)
        options = replace(options, stage=progress.stage)
        plan = planned(read.table, stored.model, request, options, feedback)
        origin = Origin.at(source, read.digest)
        found = Colocated(
            plan, None, read.table, stored, origin, feedback, read.left_out
        )
        if plan.status in WITHOUT_PLAN:
            output.abort()
            return replace(found, plan=replace(plan, seconds=progress.seconds))
        return _written(found, model, output, progress)
    except BaseException:
        output.abort()
        raise


def _written(
    found: Colocated, model: Place, output: Output, progress: Progress
) -> Colocated:
    """The plan, audited and in its place."""
    with progress.stage("write"):
        background = background_of(found, Origin.at(model, found.model.header.digest))
        header = stage_colocation_plan(output, found.plan, found.topics, background)
    with progress.stage("audit"):
        refuse_wrong(audit_staged_colocation(output.root, header, found.model.model))
    spent = dict(progress.seconds)
    plan, header = replace(found.plan, seconds=spent), replace(header, seconds=spent)
    output.commit(header.as_json())
    return replace(found, plan=plan, header=header)


def planned(
    topics: TopicTable,
    predictor: Predictor,
    request: Request,
    options: Options,
    feedback: Feedback | None,
) -> ColocationPlan:
    """The plan, with what was asked among its options, and why topics move."""
    problem = Problem(topics, predictor, request.k, request.margin)
    if feedback is None:
        plan = solve(problem, options)
    else:
        missed, met = feedback.seen(met=False), feedback.seen(met=True)
        problem = replace(problem, missed=missed, met=met)
        plan = solve(problem, options, feedback.current)
    asked = dict(plan.options)
    if request.target_ms is not None:
        asked["target_ms"] = request.target_ms
    figures = dict(plan.figures)
    if feedback is not None and "moves" in figures:
        figures["moves"] = feedback.named(figures["moves"], topics)
    return replace(plan, options=asked, figures=figures)


def background_of(found: Colocated, model: Origin) -> Background:
    if found.feedback is None:
        return Background(found.source, model)
    feedback = found.feedback
    return Background(found.source, model, feedback.follows, feedback.observed)


@dataclass(frozen=True, eq=False, repr=False)
class SavableColocationPlan(ColocationPlan):
    """A plan that knows its topics and its model.

    Its figures can be read as attributes. `model_origin` is None if the predictor is
    not from a directory.
    """

    topics: TopicTable | None = None
    predictor: Predictor | None = None
    source: Origin | None = None
    model_origin: Origin | None = None
    feedback: Feedback | None = None

    def violations(self) -> list[Violation]:
        """What is wrong with the plan, recomputed."""
        if self.topics is None or self.predictor is None:
            raise InputError("this plan does not know its topics and its model")
        observed = () if self.feedback is None else self.feedback.observed
        return colocation_violations(self, self.topics, self.predictor, observed)

    def save(self, directory: str | PathLike[str], *, force: bool = False) -> str:
        """Audit the plan and write it; returns its digest."""
        if self.status in WITHOUT_PLAN:
            raise InputError(f"there is no plan to save: {self.reason}")
        if self.topics is None or self.source is None or self.model_origin is None:
            raise InputError(
                "this plan was made with a predictor that is on no disk: it could not "
                "be audited later",
                hint="Give the directory of a latency model to colocate.",
            )
        found = self.violations()
        if found:
            raise BrokerwiseError(
                "the audit found violations in the plan; nothing was written",
                details=[violation.message for violation in found],
            )
        feedback = self.feedback
        header = write_colocation_plan(
            self,
            self.topics,
            Place(fspath(directory)),
            source=self.source,
            model=self.model_origin,
            follows=None if feedback is None else feedback.follows,
            observed=() if feedback is None else feedback.observed,
            force=force,
        )
        return header.digest

    def __getattr__(self, name: str) -> Any:
        figures = self.__dict__.get("figures", {})
        if name in figures:
            return figures[name]
        raise AttributeError(f"this co-location plan has no {name!r}")


def colocate_in_memory(
    topics: TopicTable | Place,
    model: Predictor | Place,
    request: Request,
    options: Options,
) -> SavableColocationPlan:
    """Plan for topics and a model in memory or on disk."""
    table, source = _topics(topics, request.target_ms)
    predictor, origin = _predictor(model)
    feedback = request.feedback(table)
    watch = Stopwatch()
    options = replace(options, stage=watch.stage)
    plan = planned(table, predictor, request, options, feedback)
    same: dict[str, Any] = {f.name: getattr(plan, f.name) for f in fields(plan)}
    same["seconds"] = watch.seconds
    return SavableColocationPlan(
        **same,
        topics=table,
        predictor=predictor,
        source=source,
        model_origin=origin,
        feedback=feedback,
    )


def _topics(
    topics: TopicTable | Place, target_ms: float | None
) -> tuple[TopicTable, Origin]:
    if isinstance(topics, TopicTable):
        return topics, Origin(NOWHERE, small_table_digest(topics_table(topics)))
    read = read_topic_source(topics, target_ms)
    return read.table, Origin.at(topics, read.digest)


def _predictor(model: Predictor | Place) -> tuple[Predictor, Origin | None]:
    if not isinstance(model, Place):
        return model, None
    stored = read_latency_model(model)
    return stored.model, Origin.at(model, stored.header.digest)
