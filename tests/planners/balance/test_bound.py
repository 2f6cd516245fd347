"""The lower bound, by hand."""

from tests.planners.balance.fleets import plain, snapshot_of

from brokerwise.planners.balance.bound import lower_bound


def test_every_topic_is_received_once_and_sent_to_each() -> None:
    # 10 * (2 + 1) + 3 * (1 + 1); the last one nobody wants.
    snapshot = snapshot_of(2, [10, 3, 99], [[0], [0, 1]], [0, 1])
    assert lower_bound(snapshot, 1) == 36
    assert lower_bound(snapshot, 5) == 2 * 13
    assert lower_bound(plain(3, [[2, 2, 2, 4], [], []]), 3) == 4  # 10 / 3, rounded up


def test_nothing_can_be_as_low_as_nothing() -> None:
    assert lower_bound(snapshot_of(2, [10], [], []), 2) == 0
    assert lower_bound(snapshot_of(2, [10], [[0]], [0]), 0) == 0
