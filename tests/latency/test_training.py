"""Training and evaluation: what is chosen, on what, and that it is the same again."""

import numpy as np
import pytest
from tests.latency.model_cases import QUICK, simulated, subject

from brokerwise.latency.evaluation import (
    Predict,
    Splits,
    Target,
    choose,
    evaluate,
    learning_curve,
    r2,
)
from brokerwise.latency.models import PAPER, UNIFIED, Queueing
from brokerwise.latency.samples import Samples, Subject
from brokerwise.latency.training import (
    Candidate,
    Growth,
    Matrix,
    ended_early,
    fit_network,
    fit_queueing,
    grow,
    hidden_layers,
    learners,
    table_learners,
    train_unified,
)
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

CANDIDATES = (QUICK, Candidate(0.0, Growth(rounds=2)))


def test_the_best_candidate_in_cross_validation_is_taken() -> None:
    model, choice = train_unified(
        subject(), subject().samples.every, seed=0, candidates=CANDIDATES
    )
    assert choice.best is QUICK
    assert choice.means[0] > choice.means[1]
    assert set(choice.scores[0]) == {1, 2, 3}
    assert choice.means[0] == pytest.approx(np.mean(list(choice.scores[0].values())))
    assert (model.most_topics, model.blend) == (3, 0.8)


def test_candidates_are_judged_on_what_they_have_not_seen() -> None:
    samples = subject().samples
    asked: list[tuple[Int64s, Int64s]] = []

    def learn(rows: Int64s) -> list[Predict]:
        def cheat(some: Int64s) -> Float64s:
            asked.append((rows, some))
            return samples.logs[some] + 1e-3

        return [lambda some: np.full(len(some), samples.logs.mean()), cheat]

    choice = choose(samples, samples.every, ["mean", "cheat"], learn, seed=0)
    assert choice.best == "cheat"
    for learned, predicted in asked:
        assert not set(samples.group[learned]) & set(samples.group[predicted])
    assert sum(len(predicted) for _, predicted in asked) == len(samples)


def test_the_same_data_and_seed_give_the_same_model() -> None:
    one, two = (
        train_unified(subject(), subject().samples.every, seed=4, candidates=CANDIDATES)
        for _ in range(2)
    )
    assert one[1] == two[1]
    assert one[0].queueing == two[0].queueing
    for name in ("feature", "threshold", "left", "right", "value"):
        first, second = getattr(one[0].trees, name), getattr(two[0].trees, name)
        assert first.tolist() == second.tolist()


def test_queueing_parameters_are_found_from_data_that_follows_them() -> None:
    rows, true = simulated(30, 3), Queueing(1.0, 0.4, 1.1, 25_000.0)
    made = Subject.of(rows, 1.0)
    p90 = np.exp(true.estimate(made.features(true)) + 0.3)
    columns = {name: getattr(rows, name) for name in vars(rows)}
    exact = Subject.of(LatencyRows(**columns | {"p90_ms": p90}), 1.0)
    found = fit_queueing(exact, exact.samples.every)
    again = found.estimate(exact.features(found)) - exact.samples.logs
    assert np.std(again) < 0.05 < np.std(exact.samples.logs) / 10
    assert found.horizon_ms == pytest.approx(true.horizon_ms, rel=0.3)


def test_ours_is_better_than_the_recipe_on_unseen_configurations() -> None:
    splits = Splits(count=2, share=0.2, seed=1)
    samples = subject().samples
    kinds = learners(subject())
    target = Target(100.0, 0.1)
    found = {kind: evaluate(samples, kinds[kind], splits, target) for kind in kinds}
    ours, theirs = (
        {k: found[kind].as_json(k)["test"]["mean"] for k in (1, 2, 3)}
        for kind in (UNIFIED, PAPER)
    )
    assert np.mean(list(ours.values())) > np.mean(list(theirs.values()))
    tests = [samples.part(samples.every, 0.2, seed)[1] for seed in (1, 2)]
    held = ~np.isnan(found[UNIFIED].held)
    assert np.flatnonzero(held).tolist() == np.union1d(*tests).tolist()
    for k in (1, 2, 3):
        first = tests[0][samples.topics[tests[0]] == k]
        expected = r2(samples.logs[first], found[UNIFIED].held[first])
        assert found[UNIFIED].test[k][0] == pytest.approx(expected)
        judged = found[UNIFIED].as_json(k)["verdicts"]
        met = [samples.logs[t[samples.topics[t] == k]] <= np.log(100) for t in tests]
        assert judged["met"] == np.concatenate(met).sum()


def test_a_learning_curve_goes_from_a_few_configurations_to_all() -> None:
    samples = subject(30, 2).samples
    sizes: list[int] = []

    def learn(rows: Int64s, seed: int) -> Predict:
        sizes.append(len(np.unique(samples.group[rows])))
        mean = samples.logs[rows].mean()
        return lambda some: np.full(len(some), mean)

    points = learning_curve(samples, learn, Splits(2, 0.2), points=3)
    assert [(p.topics, p.configurations) for p in points] == [
        (k, count) for k in (1, 2) for count in (20, 22, 24)
    ]
    assert sizes == [40, 44, 48] * 2
    assert all(point.train > 0 and point.validation > 0 for point in points)


def test_tables_of_others_are_learned_in_both_ways() -> None:
    random = np.random.default_rng(0)
    inputs = np.column_stack([random.uniform(0, 5, (240, 2)), np.zeros(240)])
    logs = np.minimum(inputs[:, 0], 3) + 0.2 * inputs[:, 1]
    samples = Samples(np.arange(240) // 2, np.full(240, 2, np.int32), logs)
    kinds = table_learners(Matrix(samples, inputs))
    for learn in kinds.values():
        assert evaluate(samples, learn, Splits(1)).test[2][0] > 0.95
    alone = Samples(np.arange(240), np.full(240, 1, np.int32), logs)
    found = evaluate(alone, table_learners(Matrix(alone, inputs))[PAPER], Splits(1))
    assert found.test[1][0] > 0.95
    quick = (Growth(rounds=3), Growth(rounds=40))
    trees, choice = grow(Matrix(samples, inputs), samples.every, seed=0, growths=quick)
    assert choice.best == quick[1]
    assert r2(logs, trees.predict(inputs)) > 0.98


def test_the_layers_are_those_of_the_paper() -> None:
    assert [hidden_layers(k)[0] for k in range(2, 8)] == [40, 40, 40, 40, 100, 100]


def test_a_network_that_ends_early_is_noticed() -> None:
    rows = np.random.default_rng(0).random((60, 2))
    logs = np.sin(9 * rows).sum(axis=1)
    with ended_early() as enough:
        fit_network(rows, np.zeros(60), (4,), seed=0)
    assert enough == []
    with ended_early() as short:
        fit_network(rows, logs, (4,), seed=0, iterations=3)
    assert short == [60]


def test_targets_and_splits_out_of_range_are_refused() -> None:
    for target in ((0.0, 0.1), (np.inf, 0.1), (10.0, 1.0), (10.0, -0.1)):
        with pytest.raises(InputError, match=r"target|margin"):
            Target(*target)
    for count, share in ((0, 0.2), (2, 0.0), (2, 1.0)):
        with pytest.raises(InputError, match="splits: found"):
            Splits(count, share)
