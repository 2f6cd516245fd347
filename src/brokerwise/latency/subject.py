"""Rows of one kind of broker, as models see them."""

from dataclasses import dataclass

import numpy as np

from brokerwise.kernels.latency_sharing import FEATURES
from brokerwise.latency.models import LatencyModel, Queueing
from brokerwise.latency.samples import Samples
from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.latency import LatencyRows


@dataclass(frozen=True, eq=False)
class Subject:
    """Rows of whole configurations, and the cores of their broker."""

    rows: LatencyRows
    cores: float
    samples: Samples

    @classmethod
    def of(cls, rows: LatencyRows, cores: float) -> "Subject":
        return cls(rows, cores, Samples.of_rows(rows))

    def features(self, queueing: Queueing) -> Float64s:
        """Of all rows, in their order."""
        found = np.empty((len(self.rows), len(FEATURES)))
        for _, of in self.rows.sets():
            found[of.ravel()] = queueing.features(
                self.rows.processing_ms[of], self.rows.rate_per_second[of]
            )
        return found

    def predicted(self, model: LatencyModel, rows: Int64s) -> Float64s:
        """The logarithms that a model predicts for these rows, which hold whole
        configurations."""
        taken = self.rows.take(rows)
        found = np.empty(len(rows))
        for _, of in taken.sets():
            found[of] = model.logs(taken.processing_ms[of], taken.rate_per_second[of])
        return found
