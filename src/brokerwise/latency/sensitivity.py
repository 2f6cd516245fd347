"""What a topic's latency depends on: the curves of Figure 1 of Khare et al. (2018),
simulated.

All functions return p90s in ms: medians over `repeats` runs, which differ in nothing
but the times of sending. Messages of a run, cores and overhead are those of `run`.
"""

from collections.abc import Sequence

import numpy as np

from brokerwise.latency.design import Configuration, draw_loaded
from brokerwise.latency.queueing import Run, simulate_targets
from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError

REPEATS = 5


def against_subscribers(
    run: Run,
    processing: Sequence[float],
    subscribers: Sequence[int],
    *,
    publishers: int = 1,
    repeats: int = REPEATS,
) -> Float64s:
    """Of a topic alone, by processing time (rows) and number of subscribers (1a).

    A message counts as delivered when its last subscriber has it: an upper bound of
    what one of them sees.
    """
    return np.array(
        [
            [
                _p90(run, Configuration((p,), (publishers,)), repeats, (count,))
                for count in subscribers
            ]
            for p in processing
        ]
    )


def against_background(
    run: Run,
    counts: Sequence[int],
    *,
    processing_ms: float = 50.0,
    subscribers: int = 200,
    publishers: int = 1,
    background_publishers: int = 10,
    repeats: int = REPEATS,
) -> Float64s:
    """Of a topic with many subscribers, by the number of topics beside it, which have
    the same processing time and one subscriber each (1b)."""
    return np.array(
        [
            _p90(
                run,
                Configuration(
                    (processing_ms,) * (1 + count),
                    (publishers,) + (background_publishers,) * count,
                ),
                repeats,
                (subscribers,) + (1,) * count,
            )
            for count in counts
        ]
    )


def against_rate(
    run: Run,
    processing: Sequence[float],
    publishers: Sequence[int],
    *,
    background: Configuration | None = None,
    repeats: int = REPEATS,
) -> Float64s:
    """By processing time (rows) and number of publishers, of a topic alone (1c), or
    beside the topics of `background` (1d)."""
    beside = ((), ()) if background is None else _parts(background)
    return np.array(
        [
            [
                _p90(
                    run,
                    Configuration((p, *beside[0]), (count, *beside[1])),
                    repeats,
                )
                for count in publishers
            ]
            for p in processing
        ]
    )


def drawn_background(
    count: int,
    load: float,
    *,
    processing: Sequence[float],
    rate_each: float,
    cores: int,
    seed: int,
) -> Configuration:
    """`count` topics at random that take about this share of the cores together."""
    return draw_loaded(
        1,
        count,
        processing=processing,
        rate_each=rate_each,
        load=(load, load),
        cores=cores,
        seed=seed,
    )[0]


def threshold_rate(
    rates: Sequence[float], p90_ms: Float64s, target_ms: float
) -> float | None:
    """The largest rate up to which all meet the target; None if the least does not."""
    if len(rates) != len(p90_ms) or (np.diff(rates) <= 0).any():
        raise InputError(
            f"rates: found {len(rates)} for {len(p90_ms)} percentiles, expected as "
            "many, ascending"
        )
    missed = np.flatnonzero(p90_ms > target_ms)
    first = int(missed[0]) if len(missed) else len(rates)
    return float(rates[first - 1]) if first else None


def _parts(configuration: Configuration) -> tuple[tuple[float, ...], tuple[int, ...]]:
    return configuration.processing_ms, configuration.publishers


def _p90(
    run: Run,
    configuration: Configuration,
    repeats: int,
    subscribers: Sequence[int] = (),
) -> float:
    """Of the first topic."""
    rows = simulate_targets(
        [configuration] * repeats, run, subscribers=subscribers
    ).rows
    return float(np.median(rows.p90_ms[:: len(configuration)]))
