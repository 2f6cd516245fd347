"""The time that a run is given."""

import pytest

from brokerwise.model.errors import InputError
from brokerwise.pipeline.progress import deadline


def test_it_is_over_when_so_many_seconds_have_passed() -> None:
    now = [100.0]
    over = deadline(2.5, clock=lambda: now[0])
    assert not over()
    now[0] = 102.4
    assert not over()
    now[0] = 102.5
    assert over()


def test_without_a_limit_it_never_is() -> None:
    assert not deadline(None, clock=lambda: 1e300)()


@pytest.mark.parametrize("seconds", [0, -1, float("nan")])
def test_no_time_at_all_is_refused(seconds: float) -> None:
    with pytest.raises(InputError, match="expected more than 0"):
        deadline(seconds)
