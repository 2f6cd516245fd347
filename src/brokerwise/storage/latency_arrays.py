"""The arrays of latency models as tables that anyone can read, and back."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.kernels.latency_model import FEATURES
from brokerwise.latency.models import (
    PAPER,
    UNIFIED,
    LatencyModel,
    PaperModel,
    Queueing,
    UnifiedModel,
)
from brokerwise.latency.regressors import (
    Network,
    Polynomial,
    Regressor,
    Scaling,
    Trees,
)
from brokerwise.model.arrays import Bools, Float64s
from brokerwise.model.errors import InputError
from brokerwise.storage.tables import table_of

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
