"""Plan directories: what is written is what is read, or it is refused."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.workload import Weights
from brokerwise.storage import plan as storage
from brokerwise.storage.place import Place
from brokerwise.storage.plan import (
    plan_table,
    read_placement_part,
    read_plan,
    read_plan_header,
    write_plan,
)

FLEET = Fleet.types(
    BrokerType("small", 50), BrokerType("large", 90, 4, 0.25), gigabyte_usd=0.1
)
WORKLOAD = Place("/data/w")
DIGEST = "d" * 64


@st.composite
def plans(draw: st.DrawFn) -> Plan:
    """Some pairs, each topic on one of three brokers."""
    lists = draw(st.lists(st.sets(st.integers(0, 4)).map(sorted), max_size=8))
    topics = np.array([t for wanted in lists for t in wanted], np.int32)
    used, pairs = np.unique(topics, return_counts=True)
    homes = draw(st.lists(st.integers(0, 2), min_size=len(used), max_size=len(used)))
    loads = draw(st.lists(st.integers(0, 2**53 + 1), min_size=3, max_size=3))
    feasible = draw(st.booleans())
    return Plan(
        kind="provision",
        algorithm="whole",
        status=Status.FEASIBLE if feasible else Status.INFEASIBLE,
        objective=draw(st.floats(0, 10)) if feasible else None,
        bound=draw(st.floats(0, 10)) if feasible else None,
        fleet=FLEET,
        brokers=Brokers(np.array([0, 1, 0]), np.array([50, 90, 50]), np.array(loads)),
        selection=Interests(np.cumsum([0, *map(len, lists)]), topics),
        placement=Placement(used, np.array(homes, np.int32), pairs),
        threshold=draw(st.none() | st.integers(0, 9)),
        figures={"cost": 1.5, "incoming": 2**60 + 1},
        options={"seed": 3, "packing": "cut"},
        seed=3,
        seconds={"select": 0.25},
        weights=Weights(draw(weights(7)), draw(weights(len(lists)))),
    )


def weights(count: int) -> st.SearchStrategy[Any]:
    weight = st.integers(0, 3)
    return st.none() | st.lists(weight, min_size=count, max_size=count)


def as_read(header: storage.PlanHeader) -> Any:
    return json.loads(json.dumps(header.as_json()))


def contents(plan: Plan) -> list[Any]:
    arrays: list[Any] = [
        plan.brokers.type,
        plan.brokers.capacity,
        plan.brokers.load,
        plan.selected.offsets,
        plan.selected.topics,
        plan.placement.topic,
        plan.placement.broker,
        plan.placement.pairs,
    ]
    others = [plan.kind, plan.algorithm, plan.status, plan.objective, plan.bound]
    more = [plan.fleet, plan.threshold, dict(plan.options), plan.seed, plan.seconds]
    each = [plan.weights.topics, plan.weights.subscribers]
    weights = [None if weight is None else weight.tolist() for weight in each]
    return [*(a.tolist() for a in arrays), *others, *more, plan.gap, *weights]


@contextmanager
def layout(*, block: int, pairs_per_part: int) -> Iterator[Place]:
    """A directory to write to, with blocks and parts of these sizes."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as directory:
        for module in ("subscribers", "plan"):
            patch.setattr(f"brokerwise.storage.{module}.BLOCK", block)
        patch.setattr("brokerwise.storage.subscribers.PAIRS_PER_PART", pairs_per_part)
        yield Place(f"{directory}/plan")


def write(plan: Plan, place: Place, **options: Any) -> storage.PlanHeader:
    return write_plan(plan, place, workload=WORKLOAD, workload_digest=DIGEST, **options)


@settings(max_examples=examples(50))
@given(plans(), st.integers(1, 3), st.integers(1, 6))
def test_what_was_written_is_read(plan: Plan, block: int, pairs_per_part: int) -> None:
    with layout(block=block, pairs_per_part=pairs_per_part) as place:
        header = write(plan, place)
        found = read_plan(place)
        assert read_plan_header(place).as_json() == as_read(header)
    assert contents(found) == contents(plan)
    assert found.figures == {
        **plan.figures,
        "brokers": 3,
        "load": sum(plan.brokers.load.tolist()),
        "pairs": plan.selected.pairs,
    }


@settings(max_examples=examples(20))
@given(plans())
def test_the_digest_does_not_depend_on_the_number_of_files(plan: Plan) -> None:
    digests = []
    for pairs_per_part in (1, 10**6):
        with layout(block=2, pairs_per_part=pairs_per_part) as place:
            digests.append(write(plan, place).digest)
    assert digests[0] == digests[1]


@pytest.fixture
def small() -> Plan:
    """Topic 0 is cut between both brokers, topic 1 is on the second."""
    return Plan(
        kind="provision",
        algorithm="whole",
        status=Status.OPTIMAL,
        objective=4,
        bound=4,
        fleet=FLEET,
        brokers=Brokers(np.array([0, 1]), np.array([50, 90]), np.array([20, 28])),
        selection=Interests(np.array([0, 2, 3]), np.array([0, 1, 0], np.int32)),
        placement=Placement(
            np.array([0, 0, 1], np.int32),
            np.array([0, 1, 1], np.int32),
            np.array([1, 1, 1]),
        ),
    )


@pytest.fixture
def written(small: Plan, tmp_path: Path) -> Place:
    place = Place(str(tmp_path / "plan"))
    write(small, place)
    return place


@pytest.fixture
def heavy(small: Plan) -> Plan:
    """Three topics, the last of which counts twice, and two subscribers."""
    return replace(small, weights=Weights(np.array([1, 1, 2]), np.array([5, 1])))


CHANGES: dict[str, dict[str, Any]] = {
    "a weight of a topic": {"weights": Weights(np.array([1, 2]))},
    "a weight of a subscriber": {"weights": Weights(subscribers=np.array([1, 2]))},
    "weights that all are one": {"weights": Weights(np.array([1, 1]))},
    "the kind": {"kind": "fill"},
    "the threshold": {"threshold": 1},
    "a type": {
        "brokers": Brokers(np.array([1, 1]), np.array([50, 90]), np.array([20, 28]))
    },
    "a capacity": {
        "brokers": Brokers(np.array([0, 1]), np.array([50, 91]), np.array([20, 28]))
    },
    "a load": {
        "brokers": Brokers(np.array([0, 1]), np.array([50, 90]), np.array([21, 28]))
    },
    "where a pair goes": {
        "placement": Placement(
            np.array([0, 0, 1], np.int32),
            np.array([1, 0, 1], np.int32),
            np.array([1, 1, 1]),
        )
    },
    "who is served": {
        "selection": Interests(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32))
    },
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_digest_changes_with(change: str, small: Plan, tmp_path: Path) -> None:
    one = write(small, Place(str(tmp_path / "one")))
    same = write(replace(small, seconds={"x": 1.0}), Place(str(tmp_path / "same")))
    other = write(replace(small, **CHANGES[change]), Place(str(tmp_path / "other")))
    assert one.digest == same.digest
    assert one.digest != other.digest


def test_the_digest_changes_with_the_workload(small: Plan, tmp_path: Path) -> None:
    digests = {
        write_plan(
            small, Place(str(tmp_path / d)), workload=WORKLOAD, workload_digest=d
        ).digest
        for d in ("a", "b")
    }
    assert len(digests) == 2


def test_an_infeasible_plan_has_nulls_in_its_json(small: Plan, tmp_path: Path) -> None:
    none = replace(small, status=Status.INFEASIBLE, objective=None, bound=None)
    write(none, Place(str(tmp_path / "plan")))
    header = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert (header["objective"], header["bound"], header["gap"]) == (None, None, None)


def test_a_gap_without_end_is_null_in_json(small: Plan, tmp_path: Path) -> None:
    place = Place(str(tmp_path / "plan"))
    header = write(replace(small, objective=0, bound=5), place)
    assert header.gap is None
    assert read_plan(place).gap == float("inf")


def test_the_tables_are_those_that_others_expect(written: Place) -> None:
    brokers = pq.read_table(Path(written.uri, "brokers.parquet"))
    assignment = pq.read_table(Path(written.uri, "assignment.parquet"))
    placement = pq.read_table(Path(written.uri, "placement", "part-00000.parquet"))
    assert brokers.to_pylist() == [
        dict(broker=0, type="small", capacity=50, load=20, topics=1, pairs=1),
        dict(broker=1, type="large", capacity=90, load=28, topics=2, pairs=2),
    ]
    assert assignment.to_pylist() == [
        dict(topic=0, broker=0, pairs=1),
        dict(topic=0, broker=1, pairs=1),
        dict(topic=1, broker=1, pairs=1),
    ]
    assert placement.to_pylist() == [
        dict(subscriber=0, topics=[0, 1], brokers=[0, 1]),
        dict(subscriber=1, topics=[0], brokers=[1]),
    ]


def test_a_plan_without_weights_is_written_as_it_always_was(
    small: Plan, written: Place
) -> None:
    """Plans that were approved keep their digests."""
    header = read_plan_header(written)
    assert header.digest == (
        "4c7028aa5292730f17d4d5058173358eb068883bdd75ae115892a534f0072bcc"
    )
    text = Path(written.uri, "plan.json").read_text()
    assert "weight" not in text
    assert set(json.loads(text)["tables"]) == {"brokers", "assignment"}


def test_weights_are_in_tables_of_their_own(heavy: Plan, tmp_path: Path) -> None:
    write(heavy, Place(str(tmp_path / "plan")))
    topics = pq.read_table(tmp_path / "plan" / "topic_weights.parquet")
    subscribers = pq.read_table(tmp_path / "plan" / "subscriber_weights.parquet")
    assert topics.to_pylist() == [dict(topic=2, weight=2)]
    assert subscribers.to_pylist() == [dict(subscriber=0, weight=5)]
    assert [str(kind) for kind in topics.schema.types] == ["int32", "int64"]
    assert [str(kind) for kind in subscribers.schema.types] == ["int64", "int64"]
    header = json.loads((tmp_path / "plan" / "plan.json").read_text())
    assert header["weighted"] == {"topic_weights": 3, "subscriber_weights": 2}
    assert header["tables"]["topic_weights"] == "topic_weights.parquet"
    assert len(header["digests"]["subscriber_weights"]) == 64


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (lambda h: h["digests"].pop("topic_weights"), "digests has no 'topic_weights'"),
        (
            lambda h: h["tables"].pop("subscriber_weights"),
            "tables has no 'subscriber_weights'",
        ),
        (lambda h: h.pop("weighted"), "weighted has no 'topic_weights'"),
        (
            lambda h: h["weighted"].update(topic_weights=-1),
            "weighted has 'topic_weights' -1",
        ),
        (
            lambda h: h["weighted"].update(others=3),
            "weighted has 'others' 3, expected how many",
        ),
        (
            lambda h: h["weighted"].update(subscriber_weights=3),
            "weighted has subscriber_weights 3, the placement has 2 subscribers",
        ),
        (
            lambda h: h["weighted"].update(topic_weights="x"),
            "Expected `int`, got `str`",
        ),
        (
            lambda h: h["weighted"].update(topic_weights=2),
            "found topic 2, expected each at most",
        ),
        (lambda h: h["tables"].update(topic_weights="none"), "none is missing"),
        (
            lambda h: h["tables"].update(topic_weights="../w"),
            "names a file outside its directory",
        ),
    ],
)
def test_a_header_that_is_wrong_about_weights_is_refused(
    edit: Callable[[Any], object], text: str, heavy: Plan, tmp_path: Path
) -> None:
    place = Place(str(tmp_path / "plan"))
    write(heavy, place)
    file = tmp_path / "plan" / "plan.json"
    header = json.loads(file.read_text())
    edit(header)
    file.write_text(json.dumps(header))
    with pytest.raises(InputError) as refused:
        read_plan(place)
    assert text in refused.value.message
    assert refused.value.message.startswith(f"{tmp_path}/plan/")


def test_the_path_of_the_workload_is_absolute_and_without_secrets(
    small: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    paths = []
    for number, uri in enumerate(["w", "s3://key:secret@b/w?region=eu-west-1"]):
        header = write_plan(
            small, Place(f"p{number}"), workload=Place(uri), workload_digest=DIGEST
        )
        paths.append(header.workload["path"])
    assert paths == [str(tmp_path / "w"), "s3://b/w?region=eu-west-1"]


@pytest.mark.parametrize("table", ["brokers", "assignment"])
def test_a_table_that_is_missing_is_named(table: str, written: Place) -> None:
    file = Path(written.uri, f"{table}.parquet")
    assert plan_table(written, read_plan_header(written), table).local == file
    file.unlink()
    with pytest.raises(InputError, match=f"^{file} is missing: "):
        read_plan(written)


def test_a_type_that_the_fleet_does_not_have_is_named(written: Place) -> None:
    file = Path(written.uri, "brokers.parquet")
    table = pq.read_table(file)
    types = pa.array(["small", "huge"])
    at = table.column_names.index("type")
    pq.write_table(table.set_column(at, "type", types), file)
    with pytest.raises(InputError, match="the fleet has no broker type 'huge'"):
        read_plan(written)


def test_lists_of_topics_and_brokers_must_match(written: Place) -> None:
    file = Path(written.uri, "placement", "part-00000.parquet")
    table = pq.read_table(file)
    brokers = pa.array([[0], [1, 1]], table.schema.field("brokers").type)
    pq.write_table(table.set_column(2, table.schema.field("brokers"), brokers), file)
    with pytest.raises(InputError, match="needs a list of brokers of the same length"):
        list(read_placement_part(written, "part-00000.parquet"))


def test_pairs_on_other_brokers_than_the_assignment_says_are_refused(
    written: Place,
) -> None:
    file = Path(written.uri) / "placement" / "part-00000.parquet"
    table = pq.read_table(file)
    moved = [[1 - b for b in brokers] for brokers in table["brokers"].to_pylist()]
    column = pa.array(moved, table.schema.field("brokers").type)
    pq.write_table(table.set_column(2, table.schema.field("brokers"), column), file)
    with pytest.raises(InputError, match="on other brokers than the assignment says"):
        read_plan(written)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"format": 9}, "found format 9, expected 1"),
        ({"seed": "x"}, r"Expected `int`, got `str` - at `\$.seed`"),
        ({"workload": {"path": "w"}}, "has no 'digest'"),
    ],
)
def test_a_header_that_cannot_be_used_is_refused(
    change: Any, text: str, written: Place
) -> None:
    file = Path(written.uri, "plan.json")
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    with pytest.raises(InputError, match=f"^{file}.*{text}"):
        read_plan(written)


def test_a_fleet_that_cannot_be_used_is_refused(written: Place) -> None:
    file = Path(written.uri, "plan.json")
    header = json.loads(file.read_text())
    header["fleet"]["broker_types"][0]["capacity"] = 0
    file.write_text(json.dumps(header))
    with pytest.raises(InputError, match="capacity of broker type 'small': found 0"):
        read_plan(written)


def test_a_write_that_fails_leaves_the_old_one(
    small: Plan, written: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(storage, "write_tables", fail)
    with pytest.raises(OSError, match="disk full"):
        write(replace(small, seed=9), written, force=True)
    assert contents(read_plan(written)) == contents(small)
    assert [p.name for p in Path(written.uri).parent.iterdir()] == ["plan"]
