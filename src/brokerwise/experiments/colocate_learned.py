"""What was learned as JSON, and back: numbers come out as they went in."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.latency.models import UNIFIED, UnifiedModel
from brokerwise.latency.regressors import Network, Polynomial, Regressor, Scaling
from brokerwise.storage.latency_model import SCHEMAS, model_of, model_tables

Plain = dict[str, Any]


def plain_regressor(regressor: Regressor) -> Plain:
    """One of the paper's: a polynomial or a network."""
    assert isinstance(regressor, Polynomial | Network)
    scaling = regressor.scaling
    found = {"mean": scaling.mean.tolist(), "scale": scaling.scale.tolist()}
    if isinstance(regressor, Polynomial):
        return found | {
            "powers": regressor.powers.tolist(),
            "coefficients": regressor.coefficients.tolist(),
        }
    return found | {
        "weights": [weights.tolist() for weights in regressor.weights],
        "biases": [biases.tolist() for biases in regressor.biases],
    }


def regressor_of(plain: Mapping[str, Any]) -> Regressor:
    scaling = Scaling(np.array(plain["mean"]), np.array(plain["scale"]))
    if "powers" in plain:
        powers = np.array(plain["powers"], np.int32)
        return Polynomial(scaling, powers, np.array(plain["coefficients"]))
    weights = [np.array(each) for each in plain["weights"]]
    return Network(scaling, weights, [np.array(each) for each in plain["biases"]])


def plain_unified(model: UnifiedModel) -> Plain:
    parameters, tables = model_tables(model)
    columns = {name: table.to_pydict() for name, table in tables.items()}
    return {
        "most_topics": model.most_topics,
        "parameters": dict(parameters),
        "tables": columns,
    }


def unified_of(plain: Mapping[str, Any]) -> UnifiedModel:
    tables = {
        name: pa.table(columns, schema=SCHEMAS[UNIFIED][name])
        for name, columns in plain["tables"].items()
    }
    found = model_of(UNIFIED, plain["most_topics"], plain["parameters"], tables)
    assert isinstance(found, UnifiedModel)
    return found


def mark_of(plain: Any) -> str:
    """The same for the same model, and hardly ever for another."""
    text = json.dumps(plain, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
