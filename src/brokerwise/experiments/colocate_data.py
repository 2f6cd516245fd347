"""Simulated latency data at the paper's settings, and which of it is held back."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from brokerwise.experiments.colocate_published import (
    ALONE_TEST_SHARE,
    PROCESSING_MS,
    RATE_EACH,
    TARGET_MS,
    TEST_SHARE,
)
from brokerwise.experiments.colocate_settings import Setting
from brokerwise.latency.design import draw, most_publishers, up_to_load
from brokerwise.latency.queueing import Overhead, Run, simulate_targets
from brokerwise.latency.samples import Subject, join
from brokerwise.model.arrays import Int64s
from brokerwise.model.latency import LatencyRows

TRAIN, TEST, VALIDATION = PARTS = ("train", "test", "validation")

_MOST_LOAD = 1.1  # of a topic alone, as a share of a core
_NUMBERS = 1_000_000  # between the configurations of one k and those of the next


@dataclass(frozen=True, eq=False)
class Lots:
    """Rows of some numbers of topics, and the numbers of the rows of each part; no
    configuration is in two of them."""

    subject: Subject
    parts: Mapping[str, Int64s]

    def of(self, part: str, topics: int) -> Int64s:
        rows = self.parts[part]
        found: Int64s = rows[self.subject.samples.topics[rows] == topics]
        return found


def run_of(setting: Setting, seed: int) -> Run:
    return Run(
        RATE_EACH,
        setting.messages,
        setting.cores,
        Overhead(factor=setting.factor),
        seed,
    )


@lru_cache(maxsize=8)
def lot(setting: Setting, seed: int, topics: int) -> LatencyRows:
    """All configurations of a number of topics."""
    if topics == 1:
        limits = up_to_load(_MOST_LOAD, processing=PROCESSING_MS, rate_each=RATE_EACH)
        count = setting.alone
    else:
        limits, count = most_alone(setting, seed), setting.each + setting.validation
    drawn = draw(count, topics, processing=PROCESSING_MS, most=limits, seed=seed)
    numbers = range(topics * _NUMBERS, topics * _NUMBERS + len(drawn))
    return simulate_targets(drawn, run_of(setting, seed), numbers=numbers).rows


def most_alone(setting: Setting, seed: int) -> dict[float, int]:
    """The most publishers of a topic that meets the target alone, as simulated."""
    return most_publishers(lot(setting, seed, 1), TARGET_MS, rate_each=RATE_EACH)


def lots(setting: Setting, seed: int, numbers: Sequence[int], size: int = 0) -> Lots:
    """Data of these numbers of topics, split as in the paper; with a `size`, only the
    first so many configurations of each are to learn from."""
    rows = join([lot(setting, seed, k) for k in numbers])
    subject = Subject.of(rows, float(setting.cores))
    chosen: dict[str, list[Int64s]] = {part: [] for part in PARTS}
    first = 0
    for k in numbers:
        for part, groups in _split(setting, seed, k, size):
            chosen[part].append(first + groups)
        first += len(np.unique(lot(setting, seed, k).configuration))
    group = subject.samples.group
    return Lots(
        subject,
        {
            part: np.flatnonzero(np.isin(group, np.concatenate(groups)))
            for part, groups in chosen.items()
        },
    )


def _split(
    setting: Setting, seed: int, topics: int, size: int
) -> Iterator[tuple[str, Int64s]]:
    """Configurations of each part, counted from the first of its number of topics."""
    alone = topics == 1
    count = setting.alone if alone else setting.each
    share = ALONE_TEST_SHARE if alone else TEST_SHARE
    order = np.random.default_rng([seed, topics]).permutation(count)
    held = max(1, round(share * count))
    learned = order[held:]
    yield TRAIN, learned[:size] if size else learned
    yield TEST, order[:held]
    yield VALIDATION, count + np.arange(0 if alone else setting.validation)
