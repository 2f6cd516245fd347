"""What audit says of plans of every kind, right and spoilt."""

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.colocation import save_model, save_topics, some_topics
from tests.golden import inputs
from tests.golden.golden import compare
from tests.golden.planning import Noted, normal, plain

import brokerwise
from brokerwise.cli.main import run

pytestmark = pytest.mark.usefixtures("planning_folder")

Edit = Callable[[Any], object]


def header(edit: Edit) -> None:
    """Change plan.json of the plan in `spoilt`."""
    path = Path("spoilt/plan.json")
    found = json.loads(path.read_text())
    edit(found)
    path.write_text(json.dumps(found))


def rows(table: str, edit: Edit) -> None:
    """Change the rows of one of its tables; digests stay as they were."""
    path = Path("spoilt") / f"{table}.parquet"
    found = pq.read_table(path)
    listed = found.to_pylist()
    edit(listed)
    pq.write_table(pa.Table.from_pylist(listed, found.schema), path)


def _claims(key: str, value: object) -> Callable[[], None]:
    return lambda: header(lambda plan: plan.update({key: value}))


def _figure(key: str, value: object) -> Callable[[], None]:
    return lambda: header(lambda plan: plan["figures"].update({key: value}))


def _first(table: str, key: str, value: object) -> Callable[[], None]:
    return lambda: rows(table, lambda found: found[0].update({key: value}))


PLACED: dict[str, Callable[[], None]] = {
    "right": lambda: None,
    "a figure is changed": _figure("load", 1),
    "an objective is changed": _claims("objective", 1.5),
    "a gap is changed": _claims("gap", 0.5),
    "a status is invented": _claims("status", "great"),
    "a load is changed": _first("brokers", "load", 1),
    "a capacity is lowered": _first("brokers", "capacity", 1),
    "a pair is moved": _first("placement/part-00000", "brokers", [1, 1]),
    "a run is changed": _first("assignment", "pairs", 1),
    "a table is gone": lambda: Path("spoilt/brokers.parquet").unlink(),
    "the header is gone": lambda: Path("spoilt/plan.json").unlink(),
}
WIRED = {
    "right": PLACED["right"],
    "a figure is changed": _figure("access", 1),
    "an objective is changed": _claims("objective", 1),
    "a bound is raised": _claims("bound", 10**12),
    "a load is changed": _first("brokers", "load", 1),
    "a user is moved": _first("users", "broker", 1),
    "links are gone": lambda: rows("trees", lambda found: found.clear()),
    "the header is gone": PLACED["the header is gone"],
}
SHARED = {
    "right": PLACED["right"],
    "a figure is changed": _figure("brokers", 1),
    "an objective is changed": _claims("objective", 1),
    "k is lowered": _claims("k", 1),
    "a topic is moved": _first("assignment", "broker", 0),
    "a prediction is changed": _first("assignment", "predicted_p90_ms", 1.0),
    "the header is gone": PLACED["the header is gone"],
}


def audited(
    spoil: dict[str, Callable[[], None]], by_command: set[str] | None = None
) -> dict[str, Any]:
    """The plan in `p`, spoilt in each of these ways: by the command, in words and as
    JSON, or only in Python, where that needs no Spark."""
    noted = Noted()
    for name, change in spoil.items():
        shutil.rmtree("spoilt", ignore_errors=True)
        shutil.copytree("p", "spoilt")
        change()
        if by_command is None or name in by_command:
            noted("audit spoilt", note=name)
        noted.note("brokerwise.audit", name, _said_in_python())
    return noted.found


def _said_in_python() -> Any:
    try:
        return normal([asdict(each) for each in brokerwise.audit("spoilt")])
    except Exception as error:
        return plain(f"{type(error).__name__}: {error}")


@pytest.mark.usefixtures("spark")
def test_audit_of_provision() -> None:
    inputs.newsroom("w")
    words = "provision w --capacity 45 --threshold 12 --out p"
    assert run(words.split()) == 0
    spoil = PLACED | {"another threshold": _claims("threshold", 30)}
    found = audited(spoil, {"right", "a pair is moved"})
    inputs.newsroom("other", more={"u9": "world"})
    noted = Noted()
    noted.json("audit p --workload other", note="another workload")
    noted.text("audit none")
    noted.text("audit w")
    noted.text("audit p --network w")
    compare("planning/audit_provision", found | noted.found)


@pytest.mark.usefixtures("spark")
def test_audit_of_fill() -> None:
    inputs.newsroom("w")
    weights = "--topic-weights topics.csv --subscriber-weights subscribers.csv"
    assert run(f"fill w --brokers 1x45,2x26 {weights} --out p".split()) == 0
    spoil = PLACED | {"a weight is changed": _first("topic_weights", "weight", 9)}
    compare("planning/audit_fill", audited(spoil, {"a pair is moved"}))


def test_audit_of_overlay() -> None:
    words = "generate network --users 12 --brokers 3 --subchannels 6 --width 0.3"
    assert run(f"{words} --seed 4 --out n".split()) == 0
    assert run(["overlay", "n", "--algorithm", "random", "--out", "p"]) == 0
    compare("planning/audit_overlay", audited(WIRED))


def test_audit_of_colocate() -> None:
    save_model("model")
    save_topics("topics.csv", some_topics(6))
    words = "colocate topics.csv --model model --target-ms 100 --k 4 --out p"
    assert run(words.split()) == 0
    compare("planning/audit_colocate", audited(SHARED))
