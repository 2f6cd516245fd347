"""What observed brokers of a plan tell about topics that may have changed since."""

from pathlib import Path

import numpy as np
import pytest
from tests.colocation import rows_of, save_observed

from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names
from brokerwise.model.plan import Status
from brokerwise.pipeline.feedback import Feedback, read_feedback
from brokerwise.planners.colocate.problem import Observation
from brokerwise.storage.colocation_plan import (
    ObservedSet,
    Origin,
    write_colocation_plan,
)
from brokerwise.storage.latency_data import HEADER, stage_latency_data
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place

Row = tuple[str, float, float, float]
ROWS: list[Row] = [
    ("a", 5.0, 20.0, 100.0),
    ("b", 5.0, 30.0, 100.0),
    ("c", 10.0, 8.0, 100.0),
    ("d", 10.0, 4.0, 100.0),
]


def table(rows: list[Row]) -> TopicTable:
    figures = np.array([row[1:] for row in rows]).reshape(-1, 3)
    return TopicTable(
        Names.of(row[0] for row in rows), figures[:, 0], figures[:, 1], figures[:, 2]
    )


def changed(name: str, **values: float) -> TopicTable:
    """The topics with another processing time, rate or target of one of them."""
    places = {"processing": 0, "rate": 1, "target": 2}
    found = table(ROWS)
    names = ("processing_ms", "rate_per_second", "target_ms")
    columns = [getattr(found, column).copy() for column in names]
    for key, value in values.items():
        columns[places[key]][found.names.find(name)] = value
    return TopicTable(found.names, *columns)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """a and b share broker 0, c and d broker 1; an earlier plan had seen a and c."""
    topics, four = table(ROWS), np.arange(4, dtype=np.int32)
    replicas = Replicas(
        four,
        np.zeros(4, np.int32),
        np.array([0, 0, 1, 1], np.int32),
        topics.rate_per_second,
        np.full(4, 50.0),
    )
    write_colocation_plan(
        ColocationPlan("ffd", Status.FEASIBLE, 2, 1, replicas, k=2, margin=0.1),
        topics,
        Place(str(tmp_path / "p")),
        source=Origin("t.csv", "1" * 64),
        model=Origin("m", "2" * 64),
        observed=(ObservedSet((0, 2), (20.0, 8.0), False),),
    )
    return tmp_path / "p"


def told(plan: Path, topics: TopicTable, late: dict[str, float]) -> Feedback:
    data = plan.parent / "seen"
    if not data.exists():
        save_observed(data, plan, late)
    return read_feedback(Place(str(plan)), Place(str(data)), topics)


def test_sets_that_missed_and_sets_that_met_are_known_with_those_of_before(
    plan: Path,
) -> None:
    found = told(plan, table(ROWS), {"b": 120.0})
    assert found.seen(met=False) == (
        Observation((0, 2), (20.0, 8.0)),
        Observation((0, 1), (20.0, 30.0)),
    )
    assert found.seen(met=True) == (Observation((2, 3), (8.0, 4.0)),)
    assert found.late == {0: {1: 120.0}, 1: {}} and found.measured == 2
    assert found.current.broker.tolist() == [0, 0, 1, 1]
    move = {"topic": 1, "replica": 0, "from": 0, "to": 2}
    said = found.named([move], table(ROWS))[0]
    assert said["topic"] == "b" and said["to"] == 2
    assert said["why"].endswith('topic "b" had 120 ms, at most 100 ms is its target')
    other = found.named([{**move, "from": 1}], table(ROWS))[0]
    assert other["why"] == "broker 1 is predicted to miss a target"


def test_a_target_in_the_new_table_is_what_counts(plan: Path) -> None:
    generous = told(plan, changed("b", target=150.0), {"b": 120.0})
    assert Observation((0, 1), (20.0, 30.0)) in generous.seen(met=True)
    strict = told(plan, changed("c", target=40.0), {})
    assert Observation((2, 3), (8.0, 4.0)) in strict.seen(met=False)


def test_of_a_set_that_missed_nothing_is_known_once_a_topic_takes_less(
    plan: Path,
) -> None:
    lighter = told(plan, changed("a", processing=4.0), {"b": 120.0})
    assert lighter.seen(met=False) == ()
    heavier = told(plan, changed("a", processing=6.0), {})
    assert Observation((0, 1), (20.0, 30.0)) in heavier.seen(met=False)


def test_of_a_set_that_met_its_targets_the_rest_is_known(plan: Path) -> None:
    heavier = told(plan, changed("c", processing=12.0), {})
    assert heavier.seen(met=True) == (
        Observation((0, 1), (20.0, 30.0)),
        Observation((3,), (4.0,)),
    )


def test_topics_may_come_go_and_change_places(plan: Path) -> None:
    rows = [("new", 1.0, 1.0, 100.0), *reversed(ROWS[1:])]
    found = told(plan, table(rows), {"b": 120.0})
    # d, c and b are 1, 2 and 3 now; a is gone, and with it what is known of it.
    assert found.seen(met=False) == ()
    assert found.seen(met=True) == (Observation((1, 2), (4.0, 8.0)),)
    assert found.current.topic.tolist() == [1, 2, 3]
    assert found.current.broker.tolist() == [1, 1, 0]
    assert found.late == {0: {3: 120.0}, 1: {}}


def test_what_earlier_plans_knew_lasts_while_targets_allow(plan: Path) -> None:
    before = Observation((0, 2), (20.0, 8.0))
    assert before in told(plan, table(ROWS), {}).seen(met=False)
    assert before in told(plan, changed("a", target=90.0), {}).seen(met=False)
    assert before not in told(plan, changed("a", target=110.0), {}).seen(met=False)


def test_data_of_other_brokers_are_refused(plan: Path, tmp_path: Path) -> None:
    def write(name: str, *rows: tuple[int, float, float, float], **more: str) -> Place:
        place = Place(str(tmp_path / name))
        output = Output.begin(place, HEADER, force=False)
        header = stage_latency_data(
            output, rows_of(*rows), source="measured", settings={"cores": 1, **more}
        )
        output.commit(header.as_json())
        return place

    topics, where = table(ROWS), Place(str(plan))
    for name, rows in {
        "unknown": [(7, 5.0, 20.0, 10.0)],
        "fewer": [(0, 5.0, 20.0, 10.0)],
        "other": [(0, 5.0, 20.0, 10.0), (0, 5.0, 31.0, 10.0)],
    }.items():
        with pytest.raises(InputError, match="are not those of broker"):
            read_feedback(where, write(name, *rows), topics)
    some = write("some", (1, 10.0, 8.0, 10.0), (1, 10.0, 4.0004, 10.0))
    assert read_feedback(where, some, topics).measured == 1
    foreign = write("foreign", (1, 10.0, 8.0, 10.0), plan_digest="0" * 64)
    with pytest.raises(InputError, match="was measured of another plan"):
        read_feedback(where, foreign, topics)
