"""A fleet at a moment."""

from typing import Any

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Rebalancing, Snapshot, imbalance


def small(**changes: Any) -> Snapshot:
    fields: dict[str, Any] = {
        "brokers": 2,
        "rates": [5, 7],
        "wanted": Interests(np.array([0, 2, 3]), np.array([0, 1, 1])),
        "places": [0, 1],
        "users": [0, 1],
        "state_bytes": [0, 0],
    }
    return Snapshot(**(fields | changes))


def test_a_broker_receives_a_topic_once_and_sends_it_to_each_session() -> None:
    assert small().loads().tolist() == [2 * 5 + 2 * 7, 2 * 7]
    together = np.array([0, 0], np.int32)
    assert small().loads(together).tolist() == [2 * 5 + 3 * 7, 0]
    assert small().own_loads().tolist() == [12, 7]


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"places": [0]}, "places of snapshot: found 1 entries, expected 2"),
        ({"places": [0, 2]}, "places of snapshot: found 0 to 2, expected 0 to 1"),
        ({"rates": [5]}, "topics of snapshot: found 0 to 1, expected 0 to 0"),
        ({"rates": [5, -1]}, "rates of snapshot: found -1, expected 0 or more"),
        ({"state_bytes": [0, -1]}, "state_bytes of snapshot: found -1"),
        ({"rates": [2**62, 2**62]}, "total load"),
    ],
)
def test_a_snapshot_that_cannot_be_is_refused(
    changes: dict[str, Any], text: str
) -> None:
    with pytest.raises(InputError, match=text):
        small(**changes)


def test_a_fleet_without_anyone_has_no_load() -> None:
    nobody = Interests(np.zeros(1, np.int64), np.zeros(0, np.int32))
    empty = Snapshot.of(3, np.zeros(0, np.int64), nobody, np.zeros(0, np.int32))
    assert empty.loads().tolist() == [0, 0, 0]
    assert empty.sessions == 0
    assert repr(empty) == "Snapshot(3 brokers, 0 sessions, 0 topics)"


def test_imbalance_is_the_deviation_over_the_mean() -> None:
    assert imbalance(np.array([0, 0])) == 0
    assert imbalance(np.array([5, 5])) == 0
    assert imbalance(np.array([2, 0])) == 1
    loads = np.array([3 * 10**17, 10**17, 10**17])
    assert imbalance(loads) == pytest.approx(np.std(loads) / np.mean(loads))


def test_a_rebalancing_knows_its_loads() -> None:
    made = Rebalancing(
        "ldm",
        np.array([1], np.int32),
        np.array([0], np.int32),
        np.array([4, 0]),
        np.array([2, 2]),
        2,
        "",
    )
    assert (made.moves, made.max_before, made.max_after) == (1, 4, 2)
    assert (made.cov_before, made.cov_after) == (1, 0)
    assert repr(made) == "Rebalancing(ldm, 1 moves, max load 4 -> 2)"
