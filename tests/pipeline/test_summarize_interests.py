"""Which sub-channels ranges touch and hold, and the deliveries that follow."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.deliveries import count_deliveries
from brokerwise.model.arrays import Float64s, Int32s
from brokerwise.model.errors import InputError
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.pipeline.summarize.interests import Interests, find_interests
from brokerwise.pipeline.summarize.messages import _keys, _Sums, _values

USERS = 4


@dataclass
class Case:
    subchannels: Subchannels
    owner: Int32s
    low: Float64s
    high: Float64s
    publisher: Int32s
    points: Float64s

    def interests(self) -> Interests:
        return find_interests(self.subchannels, USERS, self.owner, self.low, self.high)


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Whole and half numbers from 0 to 4, so that ends, edges and messages meet."""
    dimensions = draw(st.integers(1, 3))
    axes = []
    for number in range(dimensions):
        inner = draw(st.sets(st.sampled_from([0.5, 1, 1.5, 2, 3, 3.5]), max_size=3))
        axes.append(Axis(f"a{number}", (0, *sorted(inner), 4)))
    value = st.integers(0, 8).map(lambda n: n / 2)
    box = st.lists(st.tuples(value, value), min_size=dimensions, max_size=dimensions)
    boxes = draw(st.lists(box, max_size=6))
    ends = np.sort(np.array(boxes).reshape(len(boxes), dimensions, 2), axis=2)
    user = st.integers(0, USERS - 1)
    owner = [draw(user) for _ in boxes]
    point = st.lists(value, min_size=dimensions, max_size=dimensions)
    points = draw(st.lists(point, max_size=8))
    return Case(
        Subchannels(tuple(axes)),
        np.array(owner, np.int32),
        np.ascontiguousarray(ends[:, :, 0]),
        np.ascontiguousarray(ends[:, :, 1]),
        np.array([draw(user) for _ in points], np.int32),
        np.array(points, np.float64).reshape(len(points), dimensions),
    )


@given(cases())
def test_users_want_what_their_ranges_touch(case: Case) -> None:
    found = case.interests()
    for user in range(USERS):
        boxes = [n for n, owner in enumerate(case.owner) if owner == user]
        expected = {
            int(cell)
            for n in boxes
            for cell in case.subchannels.touched(case.low[n], case.high[n])
        }
        few = found.wanted.offsets[user : user + 2]
        assert found.wanted.subchannels[few[0] : few[1]].tolist() == sorted(expected)
    wanted = found.wanted.subchannels.tolist()
    counts = [wanted.count(cell) for cell in range(len(case.subchannels))]
    assert found.coverage.followers.tolist() == counts


@given(cases())
def test_a_sub_channel_is_covered_if_a_range_has_all_its_corners(case: Case) -> None:
    found = case.interests()
    corners = [
        list(itertools.product(*sides))
        for sides in itertools.product(
            *(list(itertools.pairwise(axis.edges)) for axis in case.subchannels.axes)
        )
    ]
    for entry, user in enumerate(found.wanted.owners()):
        cell = int(found.wanted.subchannels[entry])
        held = any(
            all((low <= corner).all() and (corner <= high).all() for corner in sides)
            for owner, low, high in zip(case.owner, case.low, case.high, strict=True)
            if owner == user
            for sides in [np.array(corners[cell])]
        )
        assert found.coverage.covered[entry] == held


@given(cases())
def test_deliveries_are_counted_message_by_message(case: Case) -> None:
    found = case.interests()
    cells = case.subchannels.of_points(case.points)
    counted = count_deliveries(
        case.publisher,
        cells,
        case.points,
        found.wanted.offsets,
        found.wanted.subchannels,
        found.coverage,
    )
    caused = exact = 0
    owners = found.wanted.owners()
    for point, cell, publisher in zip(case.points, cells, case.publisher, strict=True):
        wanting = set(owners[found.wanted.subchannels == cell].tolist())
        holding = ((case.low <= point) & (point <= case.high)).all(axis=1)
        caused += len(wanting - {int(publisher)})
        exact += len(set(case.owner[holding].tolist()) - {int(publisher)})
    assert counted.tolist() == [caused, exact]


def test_ranges_that_touch_too_many_sub_channels_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.pipeline.summarize.interests.MOST_TOUCHED", 19)
    subchannels = Subchannels.equal_width(["a"], 0, 1, 10)
    low, high = np.zeros((2, 1)), np.ones((2, 1))
    with pytest.raises(InputError, match="touch 20 sub-channels in all, expected at"):
        find_interests(subchannels, 2, np.array([0, 1], np.int32), low, high)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1))
def test_keys_are_in_the_order_of_numbers(numbers: list[float]) -> None:
    values = np.array(numbers) + 0.0
    keys = _keys(values)
    np.testing.assert_array_equal(_values(keys), values)
    order = np.argsort(keys, kind="stable")
    np.testing.assert_array_equal(values[order], np.sort(values))


def test_minus_zero_is_zero() -> None:
    assert len(np.unique(_keys(np.array([0.0, -0.0])))) == 1


@pytest.mark.parametrize("pending", [1, 1000])
def test_sums_do_not_depend_on_when_they_are_merged(
    pending: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brokerwise.pipeline.summarize.messages._PENDING", pending)
    random = np.random.default_rng(1)
    sums = _Sums()
    expected: dict[int, int] = {}
    for _ in range(20):
        keys = random.integers(0, 30, 10)
        amounts = random.integers(0, 9, 10)
        sums.add(keys, amounts)
        for key, amount in zip(keys.tolist(), amounts.tolist(), strict=True):
            expected[key] = expected.get(key, 0) + amount
    keys, totals = sums.total()
    assert dict(zip(keys.tolist(), totals.tolist(), strict=True)) == expected
    assert keys.tolist() == sorted(expected)
