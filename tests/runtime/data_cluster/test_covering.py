"""Which segments a run takes, after others have failed."""

from math import ceil, log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.data_cluster.covering import Pace, Verdict
from brokerwise.runtime.protocol.limits import SEGMENTS_PER_RUN


@given(
    count=st.integers(1, 1_200),
    poison=st.sets(st.integers(0, 1_199), max_size=6),
    passing=st.booleans(),
)
def test_all_but_the_poisoned_segments_are_covered_once_and_in_order(
    count: int, poison: set[int], passing: bool
) -> None:
    waiting = list(range(count))
    bad = poison & set(waiting)
    pace, covered, aside, runs = Pace(), [], [], 0
    trouble = passing  # the very first run fails, whatever it has
    while waiting:
        taken = list(pace.taken(waiting))
        assert 0 < len(taken) <= SEGMENTS_PER_RUN
        runs += 1
        if trouble or bad & set(taken):
            trouble = False
            pace, verdict = pace.failed(len(taken))
            if verdict is Verdict.SET_ASIDE:
                aside.append(waiting.pop(0))
        else:
            covered += taken
            waiting = waiting[len(taken) :]
            pace = pace.succeeded(len(taken))
    assert aside == sorted(bad)
    assert covered == [n for n in range(count) if n not in bad]
    steps = ceil(log2(min(count, SEGMENTS_PER_RUN))) if count > 1 else 0
    least = ceil(count / SEGMENTS_PER_RUN)
    assert runs <= least + 2 + passing + len(bad) * (2 * steps + 4)


def test_a_run_that_fails_once_is_tried_again_with_the_same_segments() -> None:
    pace, verdict = Pace().failed(7)
    assert verdict is Verdict.AGAIN
    assert list(pace.taken(range(20))) == list(range(7))
    pace, verdict = pace.failed(7)
    assert (verdict, pace.most) == (Verdict.HALVED, 3)


@pytest.mark.parametrize("failures", [0, 1])
def test_a_segment_alone_is_tried_twice(failures: int) -> None:
    _, verdict = Pace(1, failures, careful=True).failed(1)
    assert verdict is (Verdict.SET_ASIDE if failures else Verdict.AGAIN)


def test_what_succeeds_doubles_up_to_the_bound() -> None:
    pace, sizes = Pace(1, careful=True), []
    while pace.careful:
        pace = pace.succeeded(pace.most)
        sizes.append(pace.most)
    assert sizes == [2, 4, 8, 16, 32, 64, 128, 256, SEGMENTS_PER_RUN]
