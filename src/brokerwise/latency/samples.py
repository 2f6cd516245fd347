"""Rows to learn from, and which of them to hold back: always whole configurations."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

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
