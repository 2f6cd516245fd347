"""The Python API: names, signatures, fields, and what wrong inputs are told."""

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest
from tests.colocation import save_model, save_topics, some_topics
from tests.golden import inputs
from tests.golden.golden import compare
from tests.golden.planning import directory, normal, plain

import brokerwise

# Modules that types are in are nobody else's business, nor how a type is written.
_WRITTEN = (
    (r"\bbrokerwise(?:\.\w+)*\.(?=\w)", ""),
    (r"\b(collections\.abc|typing)\.(?=\w)", ""),
    (r"(-> |: )'([^']*)'", r"\1\2"),
    (r"numpy\.ndarray\[[^\[\]]*\[[^\]]*\], numpy\.dtype\[([\w.]+)\]\]", r"\1 array"),
    (r"<function \S+ at 0x[0-9a-f]+>", "<function>"),
)


def _signature(value: Any) -> str:
    text = str(inspect.signature(value))
    for pattern, instead in _WRITTEN:
        text = re.sub(pattern, instead, text)
    return text


def _described(value: Any) -> dict[str, Any]:
    """Its signature, and of a class what can be asked of it."""
    try:
        signature = _signature(value)
    except ValueError:
        signature = "none"
    if not isinstance(value, type):
        return {"signature": signature}
    found: dict[str, Any] = {"signature": signature, "members": _members(value)}
    if dataclasses.is_dataclass(value):
        found["fields"] = [field.name for field in dataclasses.fields(value)]
    return found


def _members(kind: type) -> dict[str, str]:
    """Public methods with their signatures, and properties."""
    found = {}
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        if name.startswith("_") or not _is_ours(kind, name):
            continue
        if isinstance(value, classmethod | staticmethod):
            value = getattr(kind, name)
        is_call = callable(value) and not isinstance(value, type)
        found[name] = _signature(value) if is_call else _kind_of(value)
    return found


def _is_ours(kind: type, name: str) -> bool:
    owner = next(each for each in kind.__mro__ if name in vars(each))
    return owner.__module__.startswith("brokerwise")


def _kind_of(value: object) -> str:
    return "property" if isinstance(value, property) else "value"


def test_names_and_signatures() -> None:
    names = sorted(brokerwise.__all__)
    assert names == sorted(dir(brokerwise))
    found = {name: _described(getattr(brokerwise, name)) for name in names}
    compare("planning/python_api", found)


def _error(call: Callable[[], object]) -> str:
    try:
        call()
    except Exception as error:
        return plain(f"{type(error).__name__}: {error}")
    return "is taken"


@pytest.mark.usefixtures("planning_folder")
def test_wrong_inputs() -> None:
    workload = inputs.uniform()
    inputs.newsroom("w")
    fleet = brokerwise.fleet("c3.large", workload)
    kinds = brokerwise
    calls: dict[str, Callable[[], object]] = {
        "no such directory": lambda: kinds.read_workload("none"),
        "no such plan": lambda: kinds.read_plan("none"),
        "no such network": lambda: kinds.read_network("none"),
        "no such model": lambda: kinds.read_latency_model("none"),
        "no plan to audit": lambda: kinds.audit("w"),
        "there already": lambda: kinds.write_workload(workload, "w"),
        "no such type": lambda: kinds.fleet("c3.larg", workload),
        "no headroom": lambda: kinds.fleet("c3.large", workload, headroom=1.0),
        "no threshold": lambda: kinds.provision(workload, fleet, 0),
        "no selection": lambda: kinds.provision(workload, fleet, selection="best"),
        "no packing": lambda: kinds.provision(workload, fleet, packing="best"),
        "no algorithm": lambda: kinds.fill(workload, fleet, algorithm="best"),
        "no bound": lambda: kinds.fill(workload, fleet, bound="best"),
        "no shape": lambda: kinds.generate("round", scale=1, out="g"),
        "no rates": lambda: kinds.ingest(pairs="none.csv", out="v"),
        "no topic": lambda: kinds.Workload.from_pairs(
            topics=["a"], subscribers=["u"], rates={}
        ),
        "no policy": lambda: kinds.simulate_balance(policy="best"),
        "no users": lambda: kinds.generate_network(users=0, brokers=1),
        "no name": lambda: kinds.nothing,
        "no bandwidth": lambda: kinds.Bandwidth(0, 1),
    }
    found = {name: _error(call) for name, call in calls.items()}
    compare("planning/python_errors", found)


def _facts(result: Any) -> Any:
    """Plain values among its public fields and properties; of others the type."""
    found = {}
    for name in sorted(dir(result)):
        if name.startswith("_"):
            continue
        value = getattr(result, name)
        if not callable(value):
            found[name] = _fact(value)
    return normal(found)


def _fact(value: Any) -> Any:
    if isinstance(value, bool | int | float | str | None):
        return value
    if isinstance(value, dict):
        return {str(key): _fact(each) for key, each in value.items()}
    if isinstance(value, list | tuple) and len(value) < 40:
        return [_fact(each) for each in value]
    name = type(value).__name__
    return name if name in {*brokerwise.__all__, "ndarray"} else "an object"


@pytest.mark.usefixtures("planning_folder")
def test_plans_in_python() -> None:
    inputs.newsroom("w")
    save_topics("topics.csv", some_topics(6))
    model = brokerwise.read_latency_model(save_model("model"))
    own = brokerwise.catalog("own.csv")
    fleet = brokerwise.fleet("small", "w", catalog=own)
    topics = brokerwise.read_topics("topics.csv", target_ms=100.0)
    network = brokerwise.generate_network(users=6, brokers=2, subchannels=4, seed=1)
    brokerwise.write_network(network, "n")
    made = {
        "provision": brokerwise.provision("w", fleet, 12, out="a"),
        "provision, infeasible": brokerwise.provision(
            "w", brokerwise.fleet("tiny", "w", catalog=own), 12
        ),
        "fill": brokerwise.fill("w", brokerwise.Bandwidth(100, 45), out="b"),
        "fill, weighted": brokerwise.fill(
            "w", brokerwise.Bandwidth(100, 45), topic_weights={"chess": 4}
        ),
        "overlay": brokerwise.overlay("n", out="c"),
        "colocate": brokerwise.colocate(topics, model, k=4),
        "simulate_balance": brokerwise.simulate_balance(
            brokers=3, subscribers=60, topics=12, minutes=6, seed=2
        ),
    }
    found: dict[str, Any] = {name: _facts(each) for name, each in made.items()}
    for name in "abc":
        found[f"files of {name}"] = directory(name)
        found[f"audit of {name}"] = [str(each) for each in brokerwise.audit(name)]
    compare("planning/plans_in_python", found)
