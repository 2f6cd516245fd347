"""Models, files of topics and latency data for tests of co-location, made by hand."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np

from brokerwise.kernels.latency_model import FEATURES
from brokerwise.latency.models import LatencyModel, Queueing, UnifiedModel
from brokerwise.latency.regressors import Trees
from brokerwise.model.latency import LatencyRows
from brokerwise.storage import latency_model
from brokerwise.storage.colocation_plan import read_colocation_plan
from brokerwise.storage.latency_data import HEADER, stage_latency_data
from brokerwise.storage.latency_model import (
    ModelHeader,
    Origin,
    TrainedOn,
    stage_latency_model,
)
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place

NO_TREES = Trees(
    len(FEATURES), 0.0, *(np.zeros(1, t) for t in ("i4", "i4", "f8", "i4", "i4", "f8"))
)


def model_of(cores: float = 1.0, most_topics: int = 4) -> UnifiedModel:
    """What the queueing estimate says, and nothing learned."""
    return UnifiedModel(most_topics, Queueing(cores, 0.1, 1.0, 20_000.0), 1.0, NO_TREES)


def rows_of(*rows: tuple[int, float, float, float]) -> LatencyRows:
    """Rows of (configuration, processing, rate, p90)."""
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    ones = np.ones(len(rows))
    return LatencyRows(
        columns[0].astype(np.int64),
        columns[1].astype(float),
        columns[2].astype(float),
        np.full(len(rows), 100),
        ones,
        columns[3].astype(float),
        ones / 2,
    )


def save_model(path: Path | str, cores: float = 1.0, most_topics: int = 4) -> str:
    """A model that was trained, it says, on topics of 1 to 50 ms, 1 to 200 a second."""
    seen = rows_of((0, 1.0, 1.0, 5.0), (1, 50.0, 200.0, 50.0))
    origin = Origin(
        [TrainedOn("data", "0" * 64, "simulated", {"1": 2}, {"cores": cores})],
        seen,
        {},
        [],
        0,
        "0.1.0",
    )
    write_latency_model(model_of(cores, most_topics), origin, Place(str(path)))
    return str(path)


def save_topics(
    path: Path | str, rows: Iterable[tuple[str, float, float, float | str]]
) -> str:
    lines = ["topic,processing_ms,rate_per_second,target_ms"]
    lines += [",".join(map(str, row)) for row in rows]
    Path(path).write_text("\n".join(lines) + "\n")
    return str(path)


def some_topics(count: int = 12, seed: int = 1) -> list[tuple[str, float, float, str]]:
    rng = np.random.default_rng(seed)
    return [
        (f"t{n:02d}", float(rng.choice([5, 10, 20])), float(rng.integers(2, 20)), "")
        for n in range(count)
    ]


def save_observed(
    path: Path | str, plan: Path | str, late: Mapping[str, float] | None = None
) -> str:
    """Latency data of a plan's brokers: half of each target, but for those topics that
    are `late`, with the p90 of each."""
    stored = read_colocation_plan(Place(str(plan)))
    replicas, topics = stored.plan.replicas, stored.topics
    order = np.argsort(replicas.broker, kind="stable")
    seen = rows_of(
        *(
            (
                int(replicas.broker[row]),
                float(topics.processing_ms[replicas.topic[row]]),
                float(replicas.rate_per_second[row]),
                (late or {}).get(
                    topics.names[int(replicas.topic[row])],
                    float(topics.target_ms[replicas.topic[row]]) / 2,
                ),
            )
            for row in order
        )
    )
    output = Output.begin(Place(str(path)), HEADER, force=False)
    settings = {"cores": 1, "plan_digest": stored.header.digest}
    header = stage_latency_data(output, seen, source="measured", settings=settings)
    output.commit(header.as_json())
    return str(path)


def write_latency_model(
    model: LatencyModel, origin: Origin, place: Place, *, force: bool = False
) -> ModelHeader:
    """Write a model; it appears when it is complete."""
    with new_output(place, latency_model.HEADER, force=force) as output:
        header = stage_latency_model(output, model, origin)
        output.commit(header.as_json())
    return header
