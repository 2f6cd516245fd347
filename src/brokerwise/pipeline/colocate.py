"""From topics and a latency model to brokers: a plan that is written, audited, and then
appears. All of it in this process, without Spark."""

from dataclasses import dataclass, replace

from brokerwise.auditing.colocation import audit_staged_colocation
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.latency import Predictor
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.pipeline.colocate_feedback import Feedback, read_feedback
from brokerwise.pipeline.progress import Progress, Stopwatch
from brokerwise.pipeline.refusal import refuse_wrong
from brokerwise.planners.colocate.problem import DEFAULT_MARGIN, Options, Problem
from brokerwise.planners.colocate.solve import solve
from brokerwise.storage.colocation_plan import (
    HEADER,
    Background,
    ColocationHeader,
    Origin,
    stage_colocation_plan,
)
from brokerwise.storage.latency_model import StoredModel, read_latency_model
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.topic_table import read_topic_source


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
