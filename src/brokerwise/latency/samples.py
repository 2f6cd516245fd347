"""Rows to learn from: lots of them joined, as models see them, and which of them to
hold back, always whole configurations.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from brokerwise.kernels.latency_model import FEATURES
from brokerwise.latency.models import LatencyModel, Queueing
from brokerwise.model.arrays import Bools, Float64s, Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows

LEAST = 20
"""Configurations that are needed of each number of topics."""


@dataclass(frozen=True, eq=False)
class Samples:
    """What is to be predicted, and which rows belong together.

    Attributes
    ----------
    group
        The configuration of each row; rows of one are never parted.
    topics
        How many topics it has.
    logs
        The logarithm of each row's p90 (ms).
    """

    group: Int64s
    topics: Int32s
    logs: Float64s

    @classmethod
    def of_rows(cls, rows: LatencyRows) -> "Samples":
        return cls(rows.configuration, rows.sharing(), np.log(rows.p90_ms))

    @property
    def every(self) -> Int64s:
        return np.arange(len(self))

    def sizes(self) -> dict[int, int]:
        """How many configurations there are of each number of topics."""
        return {k: len(groups) for k, groups in self.groups(self.every)}

    def part(self, rows: Int64s, share: float, seed: int) -> tuple[Int64s, Int64s]:
        """These rows in two: without, and with, a share of the configurations of each
        number of topics, but at least one on either side."""
        chosen = []
        for k, groups in self.groups(rows):
            count = min(max(1, round(share * len(groups))), len(groups) - 1)
            random = np.random.default_rng([seed, k])
            chosen.append(random.permutation(groups)[:count])
        held = np.isin(self.group[rows], np.concatenate([*chosen, np.empty(0)]))
        return rows[~held], rows[held]

    def folds(self, rows: Int64s, count: int, seed: int) -> Iterator[Bools]:
        """For each fold which of these rows are held back: each row once."""
        fold = np.zeros(len(rows), np.int64)
        for k, groups in self.groups(rows):
            random = np.random.default_rng([seed, k])
            number = np.empty(len(groups), np.int64)
            number[random.permutation(len(groups))] = np.arange(len(groups)) % count
            of_k = self.topics[rows] == k
            fold[of_k] = number[np.searchsorted(groups, self.group[rows[of_k]])]
        for each in range(count):
            yield fold == each

    def groups(self, rows: Int64s) -> Iterator[tuple[int, Int64s]]:
        """For each number of topics among these rows, ascending, its configurations."""
        topics, group = self.topics[rows], self.group[rows]
        for k in np.unique(topics).tolist():
            yield k, np.unique(group[topics == k])

    def __len__(self) -> int:
        return len(self.group)


def refuse_too_few(samples: Samples, most: int, what: str) -> None:
    """Every number of topics up to the most needs enough configurations."""
    sizes = samples.sizes()
    few = {k: sizes.get(k, 0) for k in range(1, most + 1) if sizes.get(k, 0) < LEAST}
    if few:
        enough = min(few) - 1
        raise InputError(
            f"{what}: too few configurations to learn from, expected at least {LEAST} "
            "of each number of topics",
            details=[
                f"{k} topic{'' if k == 1 else 's'}: found {count}"
                for k, count in few.items()
            ],
            hint=f"Measure or simulate more, or learn less: --k {enough}."
            if enough
            else "Measure or simulate more.",
        )


def join(parts: Sequence[LatencyRows]) -> LatencyRows:
    """All rows, one part after the other; configurations are numbered anew, from 0."""
    numbers, count = [], 0
    for part in parts:
        of_part = part.configuration
        starts = np.ones(len(of_part), np.bool_)
        starts[1:] = of_part[1:] != of_part[:-1]
        numbers.append(count - 1 + np.cumsum(starts))
        count += int(starts.sum())
    columns: dict[str, Any] = {
        field.name: _concatenated([getattr(part, field.name) for part in parts])
        for field in fields(LatencyRows)
    }
    return LatencyRows(**columns | {"configuration": _concatenated(numbers)})


def _concatenated(columns: Sequence[Any]) -> Any:
    return np.concatenate(columns) if columns else np.empty(0, np.int64)


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
