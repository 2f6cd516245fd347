"""Figure 1: what a topic's latency depends on, simulated."""

import time
from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

import numpy as np

from brokerwise.experiments.colocate_data import run_of
from brokerwise.experiments.colocate_published import (
    PROCESSING_MS,
    RATE_EACH,
    TARGET_MS,
    THRESHOLDS,
)
from brokerwise.experiments.colocate_settings import SensitivityCell, Setting
from brokerwise.latency.sensitivity import (
    against_background,
    against_rate,
    against_subscribers,
    drawn_background,
    threshold_rate,
)
from brokerwise.model.arrays import Float64s

Record = dict[str, Any]

LONGEST_MS = 50.0
"""Of Figures 1a and 1b, which have one processing time more."""
SUBSCRIBERS = (1, 40, 80, 120, 160, 200, 240)
BACKGROUND = tuple(range(9))
"""Topics beside one."""
BACKGROUND_RATE = 10
"""Publishers of 1 message/s that each of them has."""
SHARED_MS = 20.0
LOADS = (0.6, 0.8, 1.0, 1.2)
"""Of the topics beside one, as a share of the cores: the paper does not say theirs."""
_CURVE = 40  # points of a curve of Figure 1c
_TO = 1.15  # times the rate at which a worker is busy all the time


def sensitivity(cell: SensitivityCell) -> Record:
    start = time.perf_counter()
    found = _PARTS[cell.part](cell)
    seconds = time.perf_counter() - start
    problems = _problems(found["curves"])
    return {
        **cell.inputs(),
        **found,
        "problems": problems,
        "seconds": round(seconds, 3),
    }


def _subscribers(cell: SensitivityCell) -> Record:
    times = (*PROCESSING_MS, LONGEST_MS)
    found = against_subscribers(
        run_of(cell.setting, cell.seed),
        times,
        SUBSCRIBERS,
        repeats=cell.setting.repeats,
    )
    return {
        "x": list(SUBSCRIBERS),
        "curves": {f"{p:g}": _ms(curve) for p, curve in zip(times, found, strict=True)},
    }


def _background(cell: SensitivityCell) -> Record:
    found = against_background(
        run_of(cell.setting, cell.seed),
        BACKGROUND,
        processing_ms=LONGEST_MS,
        background_publishers=BACKGROUND_RATE,
        repeats=cell.setting.repeats,
    )
    return {
        "x": list(BACKGROUND),
        "saturated": _saturating(cell.setting),
        "curves": {f"{LONGEST_MS:g}": _ms(found)},
    }


def _saturating(setting: Setting) -> int:
    """How many topics beside one keep all cores busy, but no more than are tried."""
    each = BACKGROUND_RATE * LONGEST_MS * setting.factor / 1000
    return min(ceil(setting.cores / each), BACKGROUND[-1])


def _rates(cell: SensitivityCell) -> Record:
    curves, rates, thresholds = {}, {}, {}
    for p in PROCESSING_MS:
        tried = _tried(p, cell.setting.factor, _CURVE)
        found = against_rate(
            run_of(cell.setting, cell.seed), [p], tried, repeats=cell.setting.repeats
        )[0]
        rates[f"{p:g}"], curves[f"{p:g}"] = tried, _ms(found)
        thresholds[f"{p:g}"] = threshold_rate(tried, found, TARGET_MS)
    return {"rates": rates, "curves": curves, "thresholds": thresholds}


def _shared(cell: SensitivityCell) -> Record:
    """Thresholds at one processing time: alone, and beside random topics of several
    loads."""
    run = run_of(cell.setting, cell.seed)
    rates = _tried(SHARED_MS, cell.setting.factor, RATES_SHARED)
    repeats = cell.setting.repeats
    alone = against_rate(run, [SHARED_MS], rates, repeats=repeats)[0]
    thresholds: Record = {"0": {"alone": [threshold_rate(rates, alone, TARGET_MS)]}}
    curves = {"0": _ms(alone)}
    for count in THRESHOLDS:
        if not count:
            continue
        every = {load: _beside(cell, count, load, rates) for load in LOADS}
        thresholds[f"{count}"] = {
            f"{load:g}": [threshold_rate(rates, one, TARGET_MS) for one in found]
            for load, found in every.items()
        }
        curves[f"{count}"] = _ms(np.median(every[1.0], axis=0))
    return {"x": rates, "curves": curves, "thresholds": thresholds}


RATES_SHARED = 30


def _beside(
    cell: SensitivityCell, count: int, load: float, rates: list[int]
) -> list[Float64s]:
    setting = cell.setting
    return [
        against_rate(
            run_of(setting, cell.seed),
            [SHARED_MS],
            rates,
            background=drawn_background(
                count,
                load / setting.factor,
                processing=PROCESSING_MS,
                rate_each=RATE_EACH,
                cores=setting.cores,
                seed=cell.seed + number,
            ),
            repeats=1,
        )[0]
        for number in range(setting.backgrounds)
    ]


def _tried(processing_ms: float, factor: float, count: int) -> list[int]:
    most = _TO * 1000 / (processing_ms * factor * RATE_EACH)
    return sorted({int(r) for r in np.linspace(1, most, count)})


def _ms(curve: Float64s) -> list[float]:
    return [round(float(value), 2) for value in curve]


def _problems(curves: Mapping[str, list[float]]) -> list[str]:
    """Nothing is faster than its processing."""
    return [
        f"the curve of {name} has {min(values):g} ms, which cannot be"
        for name, values in curves.items()
        if not values or min(values) <= 0
    ]


_PARTS: Mapping[str, Callable[[SensitivityCell], Record]] = {
    "a": _subscribers,
    "b": _background,
    "c": _rates,
    "d": _shared,
}
