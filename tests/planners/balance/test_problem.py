"""What cannot be asked."""

import numpy as np
import pytest
from tests.planners.balance.fleets import plain

from brokerwise.model.errors import InputError
from brokerwise.planners.balance.options import Options
from brokerwise.planners.balance.problem import Problem

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
