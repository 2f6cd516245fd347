"""Which configurations latency data is made of."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.latency.design import (
    Configuration,
    Design,
    draw,
    draw_loaded,
    grid,
    most_publishers,
    up_to_load,
)
from brokerwise.latency.queueing import NONE, simulate
from brokerwise.latency.samples import join
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

TIMES = (2.5, 5.0, 7.5, 10.0)
MOST = {2.5: 80, 5.0: 40, 7.5: 27, 10.0: 20}


@given(count=st.integers(0, 30), more=st.integers(0, 30), k=st.integers(1, 6))
def test_a_longer_list_begins_with_the_shorter_one(
    count: int, more: int, k: int
) -> None:
    few = draw(count, k, processing=TIMES, most=MOST, seed=4)
    many = draw(count + more, k, processing=TIMES, most=MOST, seed=4)
    assert many[:count] == few and len(many) == count + more
    few = draw_loaded(count, k, processing=TIMES, rate_each=4, seed=4)
    many = draw_loaded(count + more, k, processing=TIMES, rate_each=4, seed=4)
    assert many[:count] == few


def test_publishers_are_uniform_up_to_the_most_of_their_time() -> None:
    drawn = draw(4_000, 3, processing=TIMES, most=MOST, seed=1)
    pairs = [
        pair for c in drawn for pair in zip(c.processing_ms, c.publishers, strict=True)
    ]
    for time, most in MOST.items():
        publishers = np.array([n for p, n in pairs if p == time])
        assert len(publishers) == pytest.approx(3_000, rel=0.1)
        assert (publishers.min(), publishers.max()) == (1, most)
        assert publishers.mean() == pytest.approx((1 + most) / 2, rel=0.05)
    assert drawn == draw(4_000, 3, processing=TIMES, most=list(MOST.values()), seed=1)
    assert drawn != draw(4_000, 3, processing=TIMES, most=MOST, seed=2)


@pytest.mark.parametrize("cores", [1, 4])
@pytest.mark.parametrize("k", [1, 2, 6])
def test_loads_are_uniform_in_their_range(k: int, cores: int) -> None:
    drawn = draw_loaded(
        3_000, k, processing=TIMES, rate_each=1, load=(0.2, 1.1), cores=cores, seed=3
    )
    loads = np.array([c.load(1) for c in drawn]) / min(k, cores)
    assert min(len(c) for c in drawn) == max(len(c) for c in drawn) == k
    parts, _ = np.histogram(loads, np.linspace(0.2, 1.1, 4))
    assert parts.sum() > 2_900
    assert parts == pytest.approx(np.full(3, parts.mean()), rel=0.1)


def test_one_topic_is_on_a_grid_that_meets_all_before_it_begins_again() -> None:
    most = [7, 3]
    found = draw(14, 1, processing=[5, 10], most=most, seed=9)
    assert found == grid(14, processing=[5, 10], most=most)
    first = [c.publishers[0] for c in found if c.processing_ms == (5,)]
    assert first[:3] == [7, 1, 4] and sorted(first) == list(range(1, 8))
    second = [c.publishers[0] for c in found if c.processing_ms == (10,)]
    assert second == [3, 1, 2, 3, 1, 2, 3]


@given(limit=st.integers(1, 200))
def test_the_first_points_of_a_grid_are_spread_evenly(limit: int) -> None:
    found = grid(min(limit, 9), processing=[1], most=[limit])
    points = sorted(c.publishers[0] for c in found)
    gaps = np.diff([1, *points, limit])
    assert len(set(points)) == len(points)
    assert gaps.max(initial=0) <= -(-limit // 8) + 1 or limit < 9


def test_a_load_gives_the_most_publishers() -> None:
    found = up_to_load(1.1, processing=TIMES, rate_each=4)
    assert found == {2.5: 110, 5.0: 55, 7.5: 36, 10.0: 27}
    assert up_to_load(0.1, processing=[900], rate_each=4) == {900.0: 1}


def rows_of(processing: float, publishers: list[int], p90: list[float]) -> LatencyRows:
    count = len(publishers)
    ones = np.ones(count)
    return LatencyRows(
        configuration=np.arange(count),
        processing_ms=processing * ones,
        rate_per_second=4.0 * np.array(publishers),
        messages=np.ones(count, np.int64),
        mean_ms=ones,
        p90_ms=np.array(p90),
        cpu_share=ones,
    )


def test_one_disturbed_row_does_not_change_the_most_publishers() -> None:
    publishers = [1, 5, 10, 15, 20, 25]
    calm = rows_of(5, publishers, [9, 10, 20, 90, 400, 900])
    assert most_publishers(calm, 100, rate_each=4) == {5.0: 15}
    disturbed = rows_of(5, publishers, [9, 999, 20, 90, 400, 900])
    assert most_publishers(disturbed, 100, rate_each=4) == {5.0: 15}
    assert most_publishers(calm, 9_000, rate_each=4) == {5.0: 25}


def test_a_target_that_no_rate_meets_is_refused() -> None:
    with pytest.raises(InputError, match="a topic of 5 ms alone"):
        most_publishers(rows_of(5, [1, 2], [50, 60]), 40, rate_each=4)


def test_rows_without_a_topic_alone_are_refused() -> None:
    rows = rows_of(5, [1, 2], [50, 60])
    pair = LatencyRows(
        configuration=np.zeros(2, np.int64),
        **{
            name: getattr(rows, name)
            for name in ("processing_ms", "rate_per_second", "messages", "mean_ms")
        },
        p90_ms=rows.p90_ms,
        cpu_share=rows.cpu_share,
    )
    with pytest.raises(InputError, match="found none of a topic alone"):
        most_publishers(pair, 100, rate_each=4)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"count": -1}, "found -1 of 2 topics"),
        ({"k": 0}, "of 0 topics"),
        ({"processing": []}, "processing times"),
        ({"processing": [5, -1]}, "processing times"),
        ({"most": {5.0: 3}}, "found none for processing of 10 ms"),
        ({"most": [3]}, "most publishers"),
        ({"most": [3, 0]}, "most publishers"),
    ],
)
def test_what_cannot_be_drawn_is_refused(change: dict[str, object], text: str) -> None:
    call: dict[str, object] = {"processing": [5, 10], "most": [3, 3], "seed": 0}
    call |= {"count": 1, "k": 2} | change
    with pytest.raises(InputError, match=text):
        draw(**call)  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [(0.0, 1.0), (1.0, 0.5), (0.5, np.inf)])
def test_a_range_of_loads_goes_up(load: tuple[float, float]) -> None:
    with pytest.raises(InputError, match="load: found"):
        draw_loaded(1, 2, processing=[5], rate_each=4, load=load, seed=0)


@pytest.mark.parametrize(
    "values", [((), ()), ((1.0,), ()), ((0.0,), (1,)), ((1.0,), (0,))]
)
def test_a_configuration_has_numbers_above_zero_for_every_topic(
    values: tuple[tuple[float, ...], tuple[int, ...]],
) -> None:
    with pytest.raises(InputError):
        Configuration(*values)


DESIGN_TIMES = (5.0, 10.0)
DESIGN_MOST = {5.0: 30, 10.0: 15}


def test_both_ways_take_turns() -> None:
    def made(way: str) -> list[Configuration]:
        design = Design((1, 3), 5, DESIGN_TIMES, way=way, seed=4)
        return design.sharing(3, DESIGN_MOST, rate_each=4, cores=1)

    paper = draw(5, 3, processing=DESIGN_TIMES, most=DESIGN_MOST, seed=4)
    loaded = draw_loaded(5, 3, processing=DESIGN_TIMES, rate_each=4, seed=4)
    assert made("paper") == paper and made("loaded") == loaded
    assert made("mixed") == [paper[0], loaded[0], paper[1], loaded[1], paper[2]]


def test_topics_alone_go_up_to_more_than_a_worker_can_do() -> None:
    alone = Design((1,), 90, DESIGN_TIMES).alone(4.0)
    assert max(c.load(4.0) for c in alone) == pytest.approx(1.1, abs=0.04)
    assert min(c.publishers[0] for c in alone) == 1


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"topics": ()}, "topics of a configuration"),
        ({"topics": (0, 1)}, "topics of a configuration"),
        ({"topics": (1, 33)}, "topics of a configuration"),
        ({"each": 0}, "configurations: found 0"),
        ({"way": "odd"}, "way to draw: found 'odd'"),
        ({"target_ms": 0.0}, "target: found 0 ms"),
    ],
)
def test_a_design_that_cannot_be_is_refused(
    change: dict[str, object], text: str
) -> None:
    values: dict[str, object] = {"topics": (1,), "each": 1, "processing": DESIGN_TIMES}
    with pytest.raises(InputError, match=text):
        Design(**values | change)  # type: ignore[arg-type]


def test_joined_rows_are_numbered_anew() -> None:
    pairs = draw(2, 2, processing=DESIGN_TIMES, most=DESIGN_MOST, seed=1)
    alone = draw(3, 1, processing=DESIGN_TIMES, most=DESIGN_MOST, seed=1)
    parts = [simulate(c, rate_each=4, overhead=NONE) for c in (pairs, alone)]
    joined = join(parts)
    assert joined.configuration.tolist() == [0, 0, 1, 1, 2, 3, 4]
    assert joined.p90_ms.tolist() == np.concatenate([p.p90_ms for p in parts]).tolist()
    assert len(join([])) == 0
