"""Topics that share brokers: co-location plans."""

from os import PathLike
from typing import TYPE_CHECKING

from brokerwise.api.callers import Path, place_of
from brokerwise.model.colocation import TopicTable
from brokerwise.model.latency import Predictor
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.storage import colocation_plan as plan_storage
from brokerwise.storage.plan import HEADER

if TYPE_CHECKING:
    from brokerwise.pipeline.colocate import SavableColocationPlan


def read_topics(file: Path, *, target_ms: float | None = None) -> TopicTable:
    """The topics of a CSV file, or of a workload whose topics have processing_ms."""
    from brokerwise.storage.topic_table import read_topic_source

    return read_topic_source(place_of(file), target_ms).table


def read_colocation_plan(directory: Path) -> plan_storage.StoredColocation:
    """A whole plan in memory, with its topics, its digests checked."""
    return plan_storage.read_colocation_plan(place_of(directory))


def colocate(
    topics: TopicTable | Path,
    model: Predictor | Path,
    *,
    k: int,
    target_ms: float | None = None,
    margin: float = 0.1,
    split: bool = False,
    algorithm: str = "search",
    open: int = 3,
    from_plan: Path | None = None,
    observed: Path | None = None,
    seed: int = 0,
    seconds: float | None = None,
    out: Path | None = None,
    force: bool = False,
) -> "SavableColocationPlan":
    """The fewest brokers that keep every topic below its latency target.

    `model` is a directory, or any `Predictor`; a plan by the latter cannot be saved.
    With `out` the plan is audited and written there. An infeasible problem is an
    answer: see the plan's `status` and `reason`. All of it happens in this process,
    without Spark.
    """
    from brokerwise.pipeline.colocate import Request, colocate_in_memory
    from brokerwise.pipeline.progress import deadline
    from brokerwise.planners.colocate.problem import Options
    from brokerwise.storage.output import Output

    request = Request(
        k,
        target_ms,
        margin,
        *(None if path is None else place_of(path) for path in (from_plan, observed)),
    )
    options = Options(algorithm, open, split, seed, deadline(seconds))
    if out is not None:  # what may not be replaced should not wait for the plan
        Output.begin(place_of(out), HEADER, force=force).abort()
    table = topics if isinstance(topics, TopicTable) else place_of(topics)
    predictor = place_of(model) if isinstance(model, str | PathLike) else model
    plan = colocate_in_memory(table, predictor, request, options)
    if out is not None and plan.status not in WITHOUT_PLAN:
        plan.save(out, force=force)
    return plan
