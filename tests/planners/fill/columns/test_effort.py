from tests.planners.fill.stopping import After

from brokerwise.planners.control import never
from brokerwise.planners.fill.columns.effort import Effort


def test_it_is_over_once_it_is_spent() -> None:
    effort = Effort(10, never)
    effort.spend(9)
    assert not effort.over
    effort.spend(1)
    assert effort.over
    assert not effort.stopped


def test_a_stop_ends_it_for_good() -> None:
    effort = Effort(10, After(1))
    assert not effort.over
    assert effort.over
    assert effort.stopped
    assert effort.over
