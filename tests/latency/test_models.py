"""Latency models: what they promise to planners."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.latency.model_cases import paper, small_unified, subject, unified

from brokerwise.latency.models import (
    LatencyModel,
    PaperModel,
    Queueing,
    UnifiedModel,
    paper_features,
)
from brokerwise.model.errors import InputError

topics = st.tuples(st.floats(0.5, 20), st.floats(0.5, 500))
MODELS: dict[str, Callable[[], LatencyModel]] = {"unified": unified, "paper": paper}
Sets = list[tuple[float, float]]


def p90(model: LatencyModel, some: Sets) -> list[float]:
    p, r = np.array(some).T[:, None, :]
    found: list[float] = model.p90_ms(p, r)[0].tolist()
    return found


@given(some=st.lists(topics, min_size=1, max_size=3), data=st.data())
def test_removing_a_topic_never_hurts_the_others(
    some: Sets, data: st.DataObject
) -> None:
    kept = data.draw(st.sets(st.integers(0, len(some) - 1), min_size=1))
    every = p90(unified(), some)
    fewer = p90(unified(), [some[at] for at in sorted(kept)])
    for place, at in enumerate(sorted(kept)):
        assert fewer[place] <= every[at] * (1 + 1e-12)


@given(
    some=st.lists(topics, min_size=1, max_size=3),
    times=st.floats(1, 4),
    of=st.sampled_from((0, 1)),
)
def test_a_topic_that_grows_helps_nobody(some: Sets, times: float, of: int) -> None:
    first = list(some[0])
    first[of] *= times
    before, after = (
        p90(unified(), some),
        p90(unified(), [(first[0], first[1]), *some[1:]]),
    )
    assert all(b <= a * (1 + 1e-12) for b, a in zip(before, after, strict=True))


@pytest.mark.parametrize("kind", MODELS)
def test_the_order_of_topics_makes_no_difference(kind: str) -> None:
    model = MODELS[kind]()
    some = [(2.5, 100.0), (10.0, 8.0), (5.0, 40.0)]
    assert p90(model, some[::-1])[::-1] == pytest.approx(p90(model, some), rel=1e-12)


@pytest.mark.parametrize("kind", MODELS)
def test_many_sets_are_predicted_like_each_alone(kind: str) -> None:
    model = MODELS[kind]()
    random = np.random.default_rng(2)
    p, r = random.uniform(1, 10, (20_000, 2)), random.uniform(1, 200, (20_000, 2))
    found = model.p90_ms(p, r)
    assert found.shape == p.shape
    for at in (0, 7, 16_383, 16_384, 19_999):
        alone = model.p90_ms(p[at : at + 1], r[at : at + 1])[0]
        assert found[at] == pytest.approx(alone, rel=1e-12)
    assert model.p90_ms(p[:0], r[:0]).shape == (0, 2)


@pytest.mark.parametrize("kind", MODELS)
def test_more_topics_than_a_model_knows_are_refused(kind: str) -> None:
    model = MODELS[kind]()
    with pytest.raises(
        InputError, match="up to 3 topics on a broker, and was asked ab"
    ):
        p90(model, [(5.0, 10.0)] * 4)


@pytest.mark.parametrize("kind", MODELS)
def test_arguments_of_other_shapes_are_refused(kind: str) -> None:
    model = MODELS[kind]()
    for p, r in ((np.ones(3), np.ones(3)), (np.ones((1, 2)), np.ones((2, 2)))):
        with pytest.raises(InputError, match=r"expected \(sets, topics\) for both"):
            model.p90_ms(p, r)


def test_the_features_of_the_paper_are_sums_over_the_others() -> None:
    p, r = np.array([[2.0, 4.0, 8.0]]), np.array([[10.0, 20.0, 30.0]])
    assert paper_features(p, r).tolist() == [
        [2, 10, 0.02, 12, 50, pytest.approx(0.32)],
        [4, 20, 0.08, 10, 40, pytest.approx(0.26)],
        [8, 30, 0.24, 6, 30, pytest.approx(0.1)],
    ]
    assert paper_features(p.T, r.T).tolist() == [[2, 10], [4, 20], [8, 30]]


def test_a_time_stays_finite_however_far_a_polynomial_goes() -> None:
    far = paper().p90_ms(np.array([[1e6]]), np.array([[1e6]]))
    assert np.isfinite(far).all() and (far > 0).all()


def test_what_is_learned_is_near_what_was_seen() -> None:
    for make in MODELS.values():
        found = subject().predicted(make(), subject().samples.every)
        logs = subject().samples.logs
        assert np.corrcoef(found, logs)[0, 1] > 0.98


def test_models_that_cannot_be_are_refused() -> None:
    queueing, trees = Queueing(1.0, 0.0, 1.0, 1.0), small_unified().trees
    with pytest.raises(InputError, match="most_topics: found 0"):
        UnifiedModel(0, queueing, 0.5, trees)
    with pytest.raises(InputError, match=r"blend: found 1\.5"):
        UnifiedModel(1, queueing, 1.5, trees)
    with pytest.raises(InputError, match="found 20 features, expected 14"):
        small_unified(inputs=20)
    with pytest.raises(InputError, match=r"found models for \[1, 3\]"):
        PaperModel({1: trees, 3: trees})
    with pytest.raises(InputError, match="cores: found 0"):
        Queueing(0.0, 0.0, 1.0, 1.0)
    with pytest.raises(InputError, match="overhead_ms: found -1"):
        Queueing(1.0, -1.0, 1.0, 1.0)
