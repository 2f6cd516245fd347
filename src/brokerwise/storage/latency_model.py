"""A directory with a latency model: data only, checked before it is used."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.kernels.latency_model import FEATURES
from brokerwise.latency.models import (
    KINDS,
    PAPER,
    UNIFIED,
    LatencyModel,
    PaperModel,
    Queueing,
    UnifiedModel,
)
from brokerwise.latency.regressors import Network, Polynomial, Regressor, Scaling, Trees
from brokerwise.model.arrays import Bools, Float64s, Int64s
from brokerwise.model.colocation import TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.header import DigestedHeader, parse_header
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    block_digest,
    json_digest,
    read_columns,
    small_table_digest,
    table_digests,
    table_of,
    write_tables,
)

TREES = pa.schema(
    [
        ("tree", pa.int32()),
        ("feature", pa.int32()),
        ("threshold", pa.float64()),
        ("left", pa.int32()),
        ("right", pa.int32()),
        ("value", pa.float64()),
    ]
)
SCALING = pa.schema(
    [
        ("topics", pa.int32()),
        ("input", pa.int32()),
        ("mean", pa.float64()),
        ("scale", pa.float64()),
    ]
)
TERMS = pa.schema(
    [
        ("processing_power", pa.int32()),
        ("rate_power", pa.int32()),
        ("coefficient", pa.float64()),
    ]
)
WEIGHTS = pa.schema(  # input -1 is the bias
    [
        ("topics", pa.int32()),
        ("layer", pa.int32()),
        ("input", pa.int32()),
        ("output", pa.int32()),
        ("weight", pa.float64()),
    ]
)
SCHEMAS: Mapping[str, Mapping[str, pa.Schema]] = {
    UNIFIED: {"trees": TREES},
    PAPER: {"scaling": SCALING, "terms": TERMS, "weights": WEIGHTS},
}
Parameters = Mapping[str, Any]
HEADER = "model.json"
FORMAT = 1
SEEN = pa.schema([("configuration", pa.int64())])
"""Marks of the configurations that a model was trained on."""
_RANGED = ("processing_ms", "rate_per_second")
_HINT = "brokerwise latency train makes one."


def model_tables(model: LatencyModel) -> tuple[Parameters, dict[str, pa.Table]]:
    """A model as a few numbers and its tables."""
    if isinstance(model, UnifiedModel):
        return _unified_tables(model)
    assert isinstance(model, PaperModel)
    return {}, _paper_tables(model)


def model_of(
    kind: str, most_topics: int, parameters: Parameters, tables: Mapping[str, pa.Table]
) -> LatencyModel:
    """The model; InputError for what cannot be one."""
    columns = {
        name: {column: table[column].to_numpy() for column in table.column_names}
        for name, table in tables.items()
    }
    if kind == UNIFIED:
        return _unified_of(most_topics, parameters, columns["trees"])
    model = _paper_of(columns)
    if model.most_topics != most_topics:
        raise InputError(
            f"most_topics: found {most_topics}, and models for up to "
            f"{model.most_topics} topics"
        )
    return model


def _unified_tables(model: UnifiedModel) -> tuple[Parameters, dict[str, pa.Table]]:
    trees, queueing = model.trees, model.queueing
    parameters = {
        "cores": queueing.cores,
        "overhead_ms": queueing.overhead_ms,
        "factor": queueing.factor,
        "horizon_ms": queueing.horizon_ms,
        "blend": model.blend,
        "first": trees.first,
        "features": list(FEATURES),
    }
    columns = [getattr(trees, name) for name in TREES.names]
    return parameters, {"trees": table_of(columns, TREES)}


def _unified_of(
    most_topics: int, parameters: Parameters, columns: Mapping[str, Any]
) -> UnifiedModel:
    if list(parameters.get("features", ())) != list(FEATURES):
        raise InputError(
            f"features: found {parameters.get('features')}, expected {list(FEATURES)}"
        )
    names = ("cores", "overhead_ms", "factor", "horizon_ms", "blend", "first")
    cores, overhead, factor, horizon, blend, first = (
        _number(parameters, name) for name in names
    )
    trees = Trees(inputs=len(FEATURES), first=first, **columns)
    queueing = Queueing(cores, overhead, factor, horizon)
    return UnifiedModel(most_topics, queueing, blend, trees)


def _number(parameters: Parameters, name: str) -> float:
    value = parameters.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"parameters: found {name} {value!r}, expected a number")
    return float(value)


def _paper_tables(model: PaperModel) -> dict[str, pa.Table]:
    scaling, terms, weights = [], [], []
    for k, part in sorted(model.parts.items()):
        assert isinstance(part, Polynomial | Network)
        pairs = np.stack([part.scaling.mean, part.scaling.scale], axis=1).tolist()
        scaling += [(k, at, *pair) for at, pair in enumerate(pairs)]
        if isinstance(part, Polynomial):
            of = part.coefficients.tolist()
            terms += [(*p, c) for p, c in zip(part.powers.tolist(), of, strict=True)]
        else:
            weights += [(k, *row) for row in _weight_rows(part)]
    return {
        "scaling": _table(scaling, SCALING),
        "terms": _table(terms, TERMS),
        "weights": _table(weights, WEIGHTS),
    }


def _weight_rows(network: Network) -> Iterator[tuple[int, int, int, float]]:
    for layer, weights in enumerate(network.weights):
        for at, row in enumerate([network.biases[layer], *weights]):
            for output, weight in enumerate(row.tolist()):
                yield layer, at - 1, output, weight


def _table(rows: list[tuple[Any, ...]], schema: pa.Schema) -> pa.Table:
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return table_of([list(column) for column in columns], schema)


def _paper_of(columns: Mapping[str, Mapping[str, Any]]) -> PaperModel:
    scaling, terms, weights = (columns[name] for name in SCHEMAS[PAPER])
    parts: dict[int, Regressor] = {}
    for k in np.unique(scaling["topics"]).tolist():
        of = scaling["topics"] == k
        inputs = 2 if k == 1 else 6
        if not np.array_equal(scaling["input"][of], np.arange(inputs)):
            raise InputError(
                f"scaling of {k} topics: expected inputs 0 to {inputs - 1}, in order"
            )
        own = Scaling(scaling["mean"][of], scaling["scale"][of])
        if k == 1:
            powers = np.stack([terms["processing_power"], terms["rate_power"]], axis=1)
            parts[k] = Polynomial(own, powers, terms["coefficient"])
        else:
            parts[k] = _network_of(own, weights, weights["topics"] == k, k)
    if not set(weights["topics"].tolist()) <= set(parts):
        raise InputError("weights: found some of a number of topics without a scaling")
    return PaperModel(parts)


def _network_of(
    scaling: Scaling, columns: Mapping[str, Any], of: Bools, k: int
) -> Network:
    layer, at, output, weight = (columns[name][of] for name in WEIGHTS.names[1:])
    count = int(layer.max(initial=-1)) + 1
    matrices = []
    for each in range(count):
        chosen = layer == each
        matrices.append(_matrix(at[chosen], output[chosen], weight[chosen], k))
    return Network(scaling, [m[1:] for m in matrices], [m[0] for m in matrices])


def _matrix(at: Any, output: Any, weight: Float64s, k: int) -> Float64s:
    """Biases, then weights, of one layer: rows in order, none missing."""
    inputs = int(at.max(initial=-1)) + 2
    outputs = len(weight) // inputs
    places = np.arange(inputs * outputs)
    if len(weight) != inputs * outputs or not (
        np.array_equal(at, places // max(outputs, 1) - 1)
        and np.array_equal(output, places % max(outputs, 1))
    ):
        raise InputError(
            f"weights for {k} topics: expected one for each input and output of a "
            "layer, in order, inputs from -1 (the bias) on"
        )
    return weight.reshape(inputs, outputs)


@dataclass(frozen=True)
class TrainedOn:
    """Latency data that a model was trained on, all or some of it."""

    path: str
    digest: str
    source: str
    configurations: Mapping[str, int]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class ModelHeader(DigestedHeader):
    """What `model.json` says.

    Attributes
    ----------
    kind
        unified or paper.
    most_topics
        On a broker, for the model to know.
    ranges
        The least and the most `processing_ms` and `rate_per_second` of one topic
        that it was trained on.
    scores
        What it came to on configurations that were held back.
    candidates
        What was tried, with R^2 in cross-validation; the best is what it is.
    digest
        Over everything that decides what is predicted.
    """

    kind: str
    most_topics: int
    trained_on: tuple[TrainedOn, ...]
    ranges: Mapping[str, tuple[float, float]]
    scores: Mapping[str, Any]
    candidates: tuple[Mapping[str, Any], ...]
    parameters: Mapping[str, Any]
    seed: int
    version: str
    seconds: Mapping[str, float]
    digests: Mapping[str, str]
    tables: Mapping[str, str]
    format: int = FORMAT
    digest: str = ""

    def content_digest(self) -> str:
        parameters = dict(self.parameters)
        return json_digest(
            [self.kind, self.most_topics, parameters, dict(self.digests)]
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Origin:
    """Where a model comes from; `rows` are those that it was trained on."""

    trained_on: Sequence[TrainedOn]
    rows: LatencyRows
    scores: Mapping[str, Any]
    candidates: Sequence[Mapping[str, Any]]
    seed: int
    version: str
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model, and what is known about it; `seen` are marks of configurations."""

    header: ModelHeader
    model: LatencyModel
    seen: Int64s

    def has_seen(self, rows: LatencyRows) -> Bools:
        """Which rows are of configurations that it was trained on."""
        found = np.zeros(len(rows), np.bool_)
        for _, sets in rows.sets():
            marks = configuration_marks(rows, sets)
            found[sets] = np.isin(marks, self.seen)[:, None]
        return found

    def outside(self, topics: TopicTable) -> Bools:
        """The topics that lie outside the range of those that it was trained on."""
        found = np.zeros(len(topics), np.bool_)
        for name, (low, high) in self.header.ranges.items():
            values = getattr(topics, name)
            found |= (values < low) | (values > high)
        return found

    @property
    def source(self) -> str:
        """Whether it was trained on what was measured, simulated, or both."""
        return " and ".join(sorted({each.source for each in self.header.trained_on}))


def stage_latency_model(
    output: Output, model: LatencyModel, origin: Origin
) -> ModelHeader:
    """Write all but the header."""
    parameters, tables = model_tables(model)
    marks = [configuration_marks(origin.rows, sets) for _, sets in origin.rows.sets()]
    tables["seen"] = table_of([np.unique(np.concatenate(marks))], SEEN)
    files = write_tables(output, tables)
    return ModelHeader(
        kind=model.kind,
        most_topics=model.most_topics,
        trained_on=tuple(origin.trained_on),
        ranges=_ranges(origin.rows),
        scores=origin.scores,
        candidates=tuple(origin.candidates),
        parameters=parameters,
        seed=origin.seed,
        version=origin.version,
        seconds=origin.seconds,
        digests=table_digests(tables),
        tables=files,
    )


def read_latency_model(place: Place) -> StoredModel:
    """Model and header of a directory.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for arrays that are not those that were trained.
    """
    header = parse_header(
        place, HEADER, ModelHeader, format=FORMAT, keys={}, hint=_HINT
    )
    schemas = SCHEMAS.get(header.kind)
    if schemas is None:
        raise InputError(
            f"{place / HEADER}: found kind {header.kind!r}, expected "
            f"{' or '.join(KINDS)}"
        )
    tables = {}
    for name, schema in {**schemas, "seen": SEEN}.items():
        if name not in header.tables or name not in header.digests:
            raise InputError(f"{place / HEADER} has no {name!r}")
        file = place / header.tables[name]
        tables[name] = read_columns(file, schema, exact=True)
        digest = small_table_digest(tables[name])
        if digest != header.digests[name]:
            raise DigestMismatchError(str(file), digest, header.digests[name])
    header.verify(place / HEADER)
    try:
        model = model_of(header.kind, header.most_topics, header.parameters, tables)
    except InputError as cause:
        raise InputError(f"{place}: {cause.message}") from cause
    return StoredModel(header, model, tables["seen"]["configuration"].to_numpy())


def configuration_marks(rows: LatencyRows, sets: Int64s) -> Int64s:
    """For each of some configurations (their rows, of shape (configurations, topics))
    a number that another one hardly has: it follows from the topics and from what was
    seen of them."""
    marks = []
    for of in sets:
        columns = [getattr(rows, name)[of] for name in (*_RANGED, "mean_ms", "p90_ms")]
        marks.append(int.from_bytes(block_digest(*columns)[:8], "little", signed=True))
    return np.array(marks, np.int64)


def _ranges(rows: LatencyRows) -> dict[str, tuple[float, float]]:
    columns = {name: getattr(rows, name) for name in _RANGED}
    return {name: (float(v.min()), float(v.max())) for name, v in columns.items()}
