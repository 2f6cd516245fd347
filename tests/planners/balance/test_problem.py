"""The lower bound, by hand."""

import numpy as np
import pytest
from tests.planners.balance.fleets import plain, snapshot_of

from brokerwise.model.errors import InputError
from brokerwise.planners.balance.problem import Options, Problem, lower_bound


def test_every_topic_is_received_once_and_sent_to_each() -> None:
    # 10 * (2 + 1) + 3 * (1 + 1); the last one nobody wants.
    snapshot = snapshot_of(2, [10, 3, 99], [[0], [0, 1]], [0, 1])
    assert lower_bound(snapshot, 1) == 36
    assert lower_bound(snapshot, 5) == 2 * 13
    assert lower_bound(plain(3, [[2, 2, 2, 4], [], []]), 3) == 4  # 10 / 3, rounded up


def test_nothing_can_be_as_low_as_nothing() -> None:
    assert lower_bound(snapshot_of(2, [10], [], []), 2) == 0
    assert lower_bound(snapshot_of(2, [10], [[0]], [0]), 0) == 0


TWO = plain(2, [[2], [2, 2]])
NOBODY = np.zeros(3, np.bool_)
BOTH = np.ones(2, np.bool_)


def test_an_answer_for_each_session_and_broker_is_needed() -> None:
    with pytest.raises(InputError, match="held: found 2 entries, expected 3"):
        Problem(TWO, BOTH, BOTH, ~BOTH)


def test_a_broker_is_not_open_and_closing() -> None:
    with pytest.raises(InputError, match="that is closing as well"):
        Problem(TWO, NOBODY, BOTH, BOTH)


def test_options_have_their_ranges() -> None:
    with pytest.raises(InputError, match=r"alpha: found -0\.1, expected 0 or more"):
        Options(alpha=-0.1)
    with pytest.raises(InputError, match="beta: found nan"):
        Options(beta=float("nan"))
    with pytest.raises(InputError, match="max_moves"):
        Options(max_moves=-1)
    with pytest.raises(InputError, match="policy: found 'best'"):
        Options("best")
