"""The loops of the quick check, against sets and dictionaries."""

from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted

from brokerwise.auditing import block_checks
from brokerwise.model.arrays import Int32s, Int64s

Lists = list[list[int]]

topics = st.integers(-1, 6)
row_lists = st.lists(st.lists(topics, max_size=5), max_size=4)
ascending = st.lists(
    st.lists(st.integers(0, 5), max_size=5, unique=True).map(sorted), max_size=4
)


@pytest.fixture(params=["compiled", "interpreted"], autouse=True, scope="module")
def _either_way(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "compiled":
        yield
    else:
        with interpreted(block_checks):
            yield


def arrays(lists: Lists) -> tuple[Int64s, Int32s]:
    offsets = np.cumsum([0, *(len(row) for row in lists)])
    return offsets, np.array([t for row in lists for t in row], np.int32)


@given(lists=row_lists | ascending)
def test_lists_ascend_within_their_range(lists: Lists) -> None:
    fine = all(
        row == sorted(set(row)) and all(0 <= t < 5 for t in row) for row in lists
    )
    assert block_checks.lists_ascend(*arrays(lists), 5) == fine


@st.composite
def served_and_wanted(draw: st.DrawFn) -> tuple[Lists, Lists]:
    wanted = draw(ascending)
    served = [
        draw(st.lists(st.sampled_from(row), unique=True).map(sorted)) if row else []
        for row in wanted
    ]
    spoiled = draw(st.none() | st.lists(topics, max_size=4))
    if served and spoiled is not None:
        served[0] = spoiled
    return served, wanted


@given(lists=served_and_wanted())
def test_lists_are_found_within_others(lists: tuple[Lists, Lists]) -> None:
    served, wanted = lists
    within = all(
        set(some) <= set(row) and some == sorted(set(some))
        for some, row in zip(served, wanted, strict=True)
    )
    found = block_checks.lists_within(*arrays(served), *arrays(wanted))
    assert found == within


@given(data=st.data())
def test_thresholds_are_met_or_all_is_received(data: st.DataObject) -> None:
    wanted = data.draw(ascending)
    served = [[t for t in row if data.draw(st.booleans())] for row in wanted]
    rates = [2**60, 9, 4, 4, 1, 0]
    need = st.integers(0, 12) | st.just(2**63 - 1)
    needs = [data.draw(need) for _ in wanted]
    met = all(
        sum(rates[t] for t in some) >= min(least, sum(rates[t] for t in row))
        for some, row, least in zip(served, wanted, needs, strict=True)
    )
    found = block_checks.thresholds_met(
        *arrays(served), *arrays(wanted), np.array(needs, np.int64), np.array(rates)
    )
    assert found == met


@given(
    runs=st.sets(st.tuples(st.integers(0, 3), st.integers(0, 6))),
    pairs=st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 7)), max_size=12),
    strays=st.booleans(),
)
def test_pairs_are_counted_by_run(
    runs: set[tuple[int, int]], pairs: list[tuple[int, int]], strays: bool
) -> None:
    if not strays:
        pairs = [pair for pair in pairs if pair in runs]
    ordered = sorted(runs)
    first = np.searchsorted([t for t, _ in ordered], range(5)).astype(np.int32)
    current = np.where(np.diff(first) > 0, first[:-1], -1).astype(np.int32)
    counts = np.zeros(len(ordered), np.int64)
    found = block_checks.runs_counted(
        np.array([t for t, _ in pairs], np.int32),
        np.array([b for _, b in pairs], np.int32),
        first,
        np.array([b for _, b in ordered], np.int32),
        current,
        counts,
    )
    assert found == (set(pairs) <= runs)
    if found:
        times = Counter(pairs)
        assert counts.tolist() == [times[run] for run in ordered]
