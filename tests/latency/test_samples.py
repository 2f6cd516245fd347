"""Splits: by configuration, never by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.latency.evaluation import r2, rmse, verdicts
from brokerwise.latency.samples import LEAST, Samples, refuse_too_few
from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError


def samples_of(sizes: dict[int, int]) -> Samples:
    """So many configurations of each number of topics."""
    topics = np.concatenate([np.full(count, k) for k, count in sizes.items()])
    group = np.repeat(np.arange(len(topics)) * 3, topics)
    rows = np.repeat(topics, topics).astype(np.int32)
    return Samples(group, rows, np.sqrt(np.arange(len(group))))


sizes = st.dictionaries(st.integers(1, 5), st.integers(2, 30), min_size=1, max_size=3)


@given(sizes=sizes, share=st.floats(0.01, 0.99), seed=st.integers(0, 50))
def test_a_part_has_its_share_of_the_configurations_of_each_size(
    sizes: dict[int, int], share: float, seed: int
) -> None:
    samples = samples_of(sizes)
    kept, held = samples.part(samples.every, share, seed)
    assert sorted([*kept, *held]) == list(range(len(samples)))
    assert not set(samples.group[kept]) & set(samples.group[held])
    for k, groups in samples.groups(held):
        count = min(max(1, round(share * sizes[k])), sizes[k] - 1)
        assert len(groups) == count
    again = samples.part(samples.every, share, seed)[1]
    assert again.tolist() == held.tolist()


@given(sizes=sizes, count=st.integers(2, 5), seed=st.integers(0, 50))
def test_every_row_is_held_back_in_one_fold_with_its_configuration(
    sizes: dict[int, int], count: int, seed: int
) -> None:
    samples = samples_of(sizes)
    folds = list(samples.folds(samples.every, count, seed))
    assert (np.sum(folds, axis=0) == 1).all()
    for held in folds:
        assert not set(samples.group[held]) & set(samples.group[~held])
    for k, groups in samples.groups(samples.every):
        of = samples.topics == k
        counts = [len(np.unique(samples.group[held & of])) for held in folds]
        assert max(counts) - min(counts) <= 1 and sum(counts) == len(groups)


def test_too_few_configurations_are_named() -> None:
    enough = {1: LEAST, 2: LEAST, 3: LEAST}
    refuse_too_few(samples_of(enough), 3, "d")
    with pytest.raises(InputError, match="d: too few configurations") as caught:
        refuse_too_few(samples_of({1: LEAST, 2: LEAST, 3: 4, 5: LEAST}), 5, "d")
    assert caught.value.details == ("3 topics: found 4", "4 topics: found 0")
    assert caught.value.hint.endswith("or learn less: --k 2.")
    with pytest.raises(InputError) as caught:
        refuse_too_few(samples_of({1: 2}), 1, "d")
    assert caught.value.details == ("1 topic: found 2",)
    assert caught.value.hint == "Measure or simulate more."


def test_r2_is_1_less_the_share_of_the_variance_that_is_left() -> None:
    from sklearn.metrics import r2_score

    random = np.random.default_rng(1)
    logs, predicted = random.normal(size=(2, 50))
    assert r2(logs, predicted) == pytest.approx(r2_score(logs, predicted))
    assert r2(logs, logs) == 1
    assert np.isnan(r2(np.ones(3), np.ones(3)))
    assert rmse(np.zeros(2), np.array([3.0, 4.0])) == pytest.approx(np.sqrt(12.5))


@given(
    values=st.lists(st.tuples(*[st.sampled_from((80.0, 90, 95, 100, 101))] * 2)),
    margin=st.sampled_from((0.0, 0.1)),
)
def test_verdicts_count_both_kinds_of_error(
    values: list[tuple[float, float]], margin: float
) -> None:
    pairs = np.array(values).reshape(-1, 2)
    logs: Float64s = np.log(pairs)
    found = verdicts(logs[:, 0], logs[:, 1], 100.0, margin)
    limit = 100 * (1 - margin) * (1 + 1e-12)
    assert found.accepted == sum(p <= limit for _, p in values)
    assert found.missed == sum(p <= limit and o > 100 for o, p in values)
    assert found.met == sum(o <= 100 for o, _ in values)
    assert found.refused == sum(p > limit and o <= 100 for o, p in values)
    share = found.missed / found.accepted if found.accepted else None
    assert found.as_json()["missed_share"] == share
