"""Training of the models of Khare et al.: a polynomial for a topic alone, a network for
each larger number of topics."""

from brokerwise.latency.fitting import ITERATIONS, fit_network, fit_polynomial
from brokerwise.latency.models import PaperModel, paper_features
from brokerwise.latency.regressors import Regressor
from brokerwise.latency.subject import Subject
from brokerwise.model.arrays import Float64s, Int64s

SHORT_ITERATIONS = 200
"""scikit-learn's default. The paper does not say how long its networks were trained,
and a short search overfits less: evaluations show both."""


def hidden_layers(topics: int) -> tuple[int, int]:
    """The layers that the paper found to do for so many topics."""
    return (40, 40) if topics <= 5 else (100, 100)


def train_paper(
    subject: Subject, rows: Int64s, *, seed: int, iterations: int = ITERATIONS
) -> PaperModel:
    """Models of these rows of a subject, which hold whole configurations."""
    taken = subject.rows.take(rows)
    logs = subject.samples.logs[rows]
    parts: dict[int, Regressor] = {}
    for k, of in taken.sets():
        inputs = paper_features(taken.processing_ms[of], taken.rate_per_second[of])
        parts[k] = fit_paper(inputs, logs[of.ravel()], k, seed, iterations)
    return PaperModel(parts)


def fit_paper(
    inputs: Float64s,
    logs: Float64s,
    topics: int,
    seed: int,
    iterations: int = ITERATIONS,
) -> Regressor:
    """The paper's recipe for one number of topics."""
    if topics == 1:
        return fit_polynomial(inputs, logs)
    return fit_network(inputs, logs, hidden_layers(topics), seed, iterations)
