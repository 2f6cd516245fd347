"""The overhead is found again from latencies that were made with it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.latency.calibration import Calibration, agreement, calibrate, run_of
from brokerwise.latency.design import draw_loaded
from brokerwise.latency.queueing import Overhead, Run, simulate_targets
from brokerwise.latency.samples import join
from brokerwise.latency.simplex import minimise
from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

TRUE = Overhead(
    receive_ms=0.3,
    deliver_ms=0.3,
    worker_ms=0.3,
    factor=1.1,
    path_ms=2.0,
    lost=0.03,
)
START = Overhead(0.1, 0.1, 0.0, 0.1, 1.0, 0.1, 0.0)
RUN = Run(4.0, messages=40, seed=6)


def seen(count: int = 24, overhead: Overhead = TRUE) -> LatencyRows:
    parts, first = [], 0
    for k in (1, 2, 4):
        drawn = draw_loaded(
            count, k, processing=(2.5, 5.0, 10.0), rate_each=4, seed=k, load=(0.2, 1.0)
        )
        numbers = range(first, first + count)
        run = replace(RUN, overhead=overhead)
        parts.append(simulate_targets(drawn, run, numbers=numbers).rows)
        first += count
    return join(parts)


@pytest.fixture(scope="module")
def found() -> Calibration:
    return calibrate(seen(), RUN, start=START)


def test_what_made_the_latencies_is_found_again(found: Calibration) -> None:
    assert found.checked.median < 0.02
    assert found.checked.r2 is not None and found.checked.r2 > 0.99
    for p in (2.5, 10.0):
        assert cost(found.overhead, p) == pytest.approx(cost(TRUE, p), rel=0.03)
    assert found.overhead.path_ms == pytest.approx(TRUE.path_ms, rel=0.05)
    assert found.overhead.lost == pytest.approx(TRUE.lost, abs=0.01)
    untried = calibrate(seen(), replace(RUN, overhead=TRUE), start=START, evaluations=0)
    assert untried.checked.median > 5 * found.checked.median


def cost(overhead: Overhead, p: float) -> float:
    """Processor time of a message, which says where the knee is."""
    loop = overhead.receive_ms + overhead.deliver_ms
    return loop + overhead.worker_ms + overhead.factor * p


def test_half_of_the_configurations_are_kept_for_the_check(found: Calibration) -> None:
    assert found.fitted.rows == found.checked.rows == 12 * (1 + 2 + 4)
    assert {k: a.rows for k, a in found.by_topics.items()} == {1: 12, 2: 24, 4: 48}
    assert found.below is not None and found.above is not None
    assert found.below.rows + found.above.rows == found.checked.rows
    plain = found.as_json()
    assert plain["by_topics"]["4"]["rows"] == 48
    assert plain["overhead"] == found.overhead.as_json()


def test_of_many_configurations_only_some_are_used_for_the_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("brokerwise.latency.calibration.MOST", 9)
    found = calibrate(seen(10), RUN, evaluations=0)
    assert found.fitted.rows == 3 * (1 + 2 + 4)
    assert found.checked.rows == 7 * (1 + 2 + 4)


def test_the_same_data_give_the_same_overhead() -> None:
    one, other = (calibrate(seen(6), RUN, evaluations=20) for _ in range(2))
    assert one.as_json() == other.as_json()


def test_without_the_times_of_sending_other_seeds_do() -> None:
    rows = seen(10)
    shifted = replace(RUN, seed=99)
    known = calibrate(rows, shifted, start=START, evaluations=60)
    unknown = calibrate(rows, shifted, known=False, start=START, evaluations=60)
    assert unknown.checked.median < 0.25
    assert unknown.fitted.median < known.fitted.median


def test_configurations_can_be_left_out() -> None:
    rows = seen(6)
    disturbed = LatencyRows(
        **{
            name: np.where(rows.configuration == 3, 50.0, 1.0) * getattr(rows, name)
            if name == "p90_ms"
            else getattr(rows, name)
            for name in rows.__dataclass_fields__
        }
    )
    plain = calibrate(rows, RUN, without={3}, evaluations=10)
    assert (
        plain.as_json()
        == calibrate(disturbed, RUN, without={3}, evaluations=10).as_json()
    )
    assert plain.fitted.rows + plain.checked.rows == len(rows) - 1


def test_too_few_configurations_are_refused() -> None:
    with pytest.raises(InputError, match="found 6 configurations, expected at least 8"):
        calibrate(seen(2), RUN)


def test_one_configuration_of_each_kind_leaves_none_to_check_with() -> None:
    drawn = [
        draw_loaded(1, k, processing=(5.0,), rate_each=4, seed=1)[0]
        for k in range(1, 9)
    ]
    rows = simulate_targets(drawn, RUN).rows
    with pytest.raises(InputError, match="kept for the check"):
        calibrate(rows, RUN)


def test_without_saturated_configurations_there_is_no_word_on_them() -> None:
    drawn = draw_loaded(8, 2, processing=(5.0,), rate_each=4, seed=1, load=(0.1, 0.3))
    found = calibrate(simulate_targets(drawn, RUN).rows, RUN, evaluations=0)
    assert found.above is None and found.as_json()["above"] is None
    assert found.below is not None and found.below == found.checked


def test_rates_that_no_publishers_make_are_refused() -> None:
    with pytest.raises(InputError, match="expected multiples of 7"):
        calibrate(seen(6), replace(RUN, rate_each=7))


def test_settings_say_how_data_was_measured() -> None:
    settings = {"rate_each": 4.0, "messages": 40, "cores": 1, "seed": 6}
    assert run_of(settings) == RUN
    assert run_of(settings | {"longest_seconds": 60.0}).longest_seconds == 60
    assert run_of(settings | {"longest_seconds": None}) == RUN
    with pytest.raises(InputError, match="found no rate_each and no cores"):
        run_of({"messages": 40})


def test_errors_are_told_by_how_many_times_one_is_the_other() -> None:
    measured = np.array([10.0, 20.0, 40.0, 80.0])
    found = agreement(np.log([1.1, 1 / 1.1, 1.1, 2.0]), measured)
    assert found.rows == 4 and found.median == pytest.approx(0.1)
    assert found.bias == pytest.approx(0.1)
    squares = 3 * np.log(1.1) ** 2 + np.log(2) ** 2
    assert found.r2 == pytest.approx(1 - squares / (5 * np.log(2) ** 2))
    assert agreement(np.zeros(2), np.ones(2)).r2 is None


@settings(max_examples=examples(30))
@given(
    least=st.lists(st.floats(-3, 3), min_size=2, max_size=4),
    stretch=st.floats(1, 20),
)
def test_the_least_of_a_bowl_is_found(least: list[float], stretch: float) -> None:
    at = np.array(least)
    scale = np.linspace(1, stretch, len(at))

    def bowl(point: Float64s) -> float:
        return float(np.sum(scale * (point - at) ** 2))

    start = np.zeros(len(at))
    found, value = minimise(bowl, start, np.full(len(at), 0.5), 400)
    assert value == bowl(found) <= bowl(start)
    np.testing.assert_allclose(found, at, atol=0.02)


def test_the_least_is_found_in_a_bent_valley() -> None:
    def valley(point: Float64s) -> float:
        x, y = point
        return float((1 - x) ** 2 + 100 * (y - x**2) ** 2)

    found, _ = minimise(valley, np.array([-1.2, 1.0]), np.array([0.3, 0.3]), 300)
    np.testing.assert_allclose(found, [1, 1], atol=1e-3)
