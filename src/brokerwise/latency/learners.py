"""Ways to learn, as evaluation calls them: by kind, for our data and for others'."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from brokerwise.latency.choosing import Choice, Predict, choose
from brokerwise.latency.evaluation import Learn
from brokerwise.latency.fitting import ITERATIONS, Growth, fit_trees
from brokerwise.latency.models import PAPER, PAPER_200, UNIFIED
from brokerwise.latency.paper import SHORT_ITERATIONS, fit_paper, train_paper
from brokerwise.latency.regressors import Regressor, Trees
from brokerwise.latency.samples import Samples
from brokerwise.latency.subject import Subject
from brokerwise.latency.unified import train_unified
from brokerwise.model.arrays import Float64s, Int64s

GROWTHS = (Growth(), Growth(least=5), Growth(leaves=5), Growth(rounds=200))
"""How trees may be grown on a table; the best in cross-validation is taken."""


def learners(subject: Subject) -> dict[str, Learn]:
    """All kinds, on latency data."""

    def paper(rows: Int64s, seed: int, iterations: int = ITERATIONS) -> Predict:
        model = train_paper(subject, rows, seed=seed, iterations=iterations)
        return lambda some: subject.predicted(model, some)

    def unified(rows: Int64s, seed: int) -> Predict:
        model, _ = train_unified(subject, rows, seed=seed)
        return lambda some: subject.predicted(model, some)

    short = partial(paper, iterations=SHORT_ITERATIONS)
    return {PAPER: paper, PAPER_200: short, UNIFIED: unified}


@dataclass(frozen=True, eq=False)
class Matrix:
    """Others' data: whatever numbers are known about each row."""

    samples: Samples
    inputs: Float64s  # of shape (rows, columns)


def table_learners(matrix: Matrix) -> dict[str, Learn]:
    """All kinds on a table, all rows of which have one number of topics.

    There is nothing to make a queueing estimate from. So ours are the trees alone,
    none of which falls where a column rises.
    """
    inputs, logs = matrix.inputs, matrix.samples.logs
    topics = int(matrix.samples.topics.max())

    def paper(rows: Int64s, seed: int, iterations: int = ITERATIONS) -> Predict:
        part = fit_paper(inputs[rows], logs[rows], topics, seed, iterations)
        return _predicting(part, inputs)

    def unified(rows: Int64s, seed: int) -> Predict:
        trees, _ = grow(matrix, rows, seed=seed)
        return _predicting(trees, inputs)

    short = partial(paper, iterations=SHORT_ITERATIONS)
    return {PAPER: paper, PAPER_200: short, UNIFIED: unified}


def grow(
    matrix: Matrix, rows: Int64s, *, seed: int, growths: Sequence[Growth] = GROWTHS
) -> tuple[Trees, Choice[Growth]]:
    """Trees for these rows of a table, grown in the way that is best in
    cross-validation on them."""
    inputs, logs = matrix.inputs, matrix.samples.logs

    def learn_all(some: Int64s) -> list[Predict]:
        every = [fit_trees(inputs[some], logs[some], None, each) for each in growths]
        return [_predicting(trees, inputs) for trees in every]

    choice = choose(matrix.samples, rows, growths, learn_all, seed)
    return fit_trees(inputs[rows], logs[rows], None, choice.best), choice


def _predicting(regressor: Regressor, inputs: Float64s) -> Predict:
    return lambda some: regressor.predict(inputs[some])
