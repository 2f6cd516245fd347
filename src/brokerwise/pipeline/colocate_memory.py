"""Co-location plans for the Python API: in memory, and saved if one wants."""

from dataclasses import dataclass, fields, replace
from os import PathLike, fspath
from typing import Any

from brokerwise.auditing.colocation import colocation_violations
from brokerwise.auditing.findings import Violation
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.latency import Predictor
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.pipeline.colocate import Request, planned
from brokerwise.pipeline.colocate_feedback import Feedback
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.planners.colocate.problem import Options
from brokerwise.storage.colocation_plan import Origin, write_colocation_plan
from brokerwise.storage.colocation_tables import topics_table
from brokerwise.storage.latency_model import read_latency_model
from brokerwise.storage.place import Place
from brokerwise.storage.tables import small_table_digest
from brokerwise.storage.topic_table import read_topic_source

NOWHERE = "in memory"
"""Where a plan says its topics are that are nowhere on disk."""


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
