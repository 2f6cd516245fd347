"""Where the content space is cut: at equal widths, or at quantiles of the messages."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.subchannels import Axis, Subchannels
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.summarize.messages import Messages
from brokerwise.pipeline.summarize.options import MASS, Space

Keys = npt.NDArray[np.uint64]

_THRESHOLDS = 1 << 17  # that messages are compared with in one pass
_SIGN = np.uint64(1 << 63)


def cut_space(
    exchange: Exchange,
    attributes: tuple[str, ...],
    intervals: tuple[int, ...],
    space: Space | None,
    cut: str,
) -> Subchannels:
    """The sub-channels. Cuts by mass are exact: they do not depend on how messages
    are spread over files. Where many messages have the same value, some intervals
    fall together, and there are fewer than asked for.

    Reads the messages that were exchanged: not at all for equal widths of a known
    space; for quantiles about seven times.
    """
    if space is None:
        space = _ranges(exchange, attributes)
    if cut != MASS:
        edges = [
            np.linspace(low, high, count + 1)
            for (low, high), count in zip(space, intervals, strict=True)
        ]
    else:
        inner = _quantiles(exchange, intervals)
        edges = [
            np.array([low, *(v for v in np.unique(values) if low < v < high), high])
            for (low, high), values in zip(space, inner, strict=True)
        ]
    cuts = zip(attributes, edges, strict=True)
    return Subchannels(tuple(Axis(name, tuple(at)) for name, at in cuts))


def _ranges(exchange: Exchange, attributes: tuple[str, ...]) -> Space:
    """The lowest and the highest value of each attribute."""

    def span(bucket: int, items: Iterator[Messages]) -> Iterator[Any]:
        for some in items:
            yield some.points.min(axis=0), some.points.max(axis=0)

    found = exchange.read(lambda bucket, items: _merged_span(span(bucket, items)))
    if not found:
        raise InputError(
            "no message can be used, so there is no range to cut",
            hint="State the space with --space LOW:HIGH.",
        )
    low = np.min([low for low, _ in found], axis=0)
    high = np.max([high for _, high in found], axis=0)
    for name, least, most in zip(attributes, low, high, strict=True):
        if least == most:
            raise InputError(
                f"attribute {name!r} is {least:g} in all messages: a range of no width "
                "cannot be cut",
                hint="State the space with --space LOW:HIGH.",
            )
    return tuple(zip(low.tolist(), high.tolist(), strict=True))


def _merged_span(spans: Iterator[Any]) -> Iterator[Any]:
    found = list(spans)
    if found:
        yield (
            np.min([low for low, _ in found], axis=0),
            np.max([high for _, high in found], axis=0),
        )


def _quantiles(exchange: Exchange, intervals: tuple[int, ...]) -> list[Float64s]:
    """For each attribute the values at k / intervals of all messages in order.

    Selection by digits: each pass counts, for every quantile, the messages below some
    values between which it is known to be, and narrows these down.
    """
    total = sum(exchange.read(_count))
    ranks = [np.arange(1, count) * total // count for count in intervals]
    lows = [np.zeros(len(rank), np.uint64) for rank in ranks]
    most = max(1, *map(len, ranks)) * len(ranks)
    digits = max(1, int(np.log2(_THRESHOLDS // min(most, _THRESHOLDS // 2))))
    left = 64
    while left and total:
        taken = min(digits, left)
        left -= taken
        steps = np.arange(1 << taken, dtype=np.uint64) << np.uint64(left)
        thresholds = [low[:, None] + steps for low in lows]
        below = _below(exchange, thresholds)
        lows = [
            low + steps[(counts <= rank[:, None]).sum(axis=1) - 1]
            for low, counts, rank in zip(lows, below, ranks, strict=True)
        ]
    return [_values(low) for low in lows]


def _count(bucket: int, items: Iterator[Messages]) -> Iterator[int]:
    yield sum(len(some.publisher) for some in items)


def _below(exchange: Exchange, thresholds: list[Keys]) -> list[Int64s]:
    """How many messages are below each threshold, attribute by attribute."""

    def count(bucket: int, items: Iterator[Messages]) -> Iterator[list[Int64s]]:
        counts = [np.zeros(keys.shape, np.int64) for keys in thresholds]
        for some in items:
            for number, keys in enumerate(thresholds):
                values = np.sort(_keys(some.points[:, number]))
                counts[number] += np.searchsorted(values, keys.ravel()).reshape(
                    keys.shape
                )
        yield counts

    parts = exchange.read(count)
    return [np.sum(same, axis=0) for same in zip(*parts, strict=True)]


def _keys(values: Float64s) -> Keys:
    """Numbers as whole ones in the same order; 0 and -0 are one."""
    bits = (values + 0.0).view(np.uint64)
    return np.where(bits & _SIGN, ~bits, bits | _SIGN)


def _values(keys: Keys) -> Float64s:
    bits = np.where(keys & _SIGN, keys & ~_SIGN, ~keys)
    return bits.astype(np.uint64).view(np.float64)
