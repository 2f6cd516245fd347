"""Many names at once: hash, look up, put in order, spread over ranges.

Names are spans [starts[i], ends[i]) of a byte buffer, in UTF-8; their order is
that of their bytes.
"""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel
from brokerwise.model.arrays import Bytes, Int32s, Int64s

UInt64s = npt.NDArray[np.uint64]
Spans: TypeAlias = Int32s | Int64s

_SMALL_RUN = 256


@kernel
def hash_name(buffer: Bytes, start: int, end: int) -> np.uint64:
    """A 64-bit hash, eight bytes at a time; the same on every machine."""
    value = np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(end - start)
    at = start
    while at < end:
        stop = min(at + 8, end)
        word = np.uint64(0)
        for k in range(at, stop):
            word = (word << np.uint64(8)) | np.uint64(buffer[k])
        value = (value ^ word) * np.uint64(0xBF58476D1CE4E5B9)
        value ^= value >> np.uint64(29)
        at = stop
    value *= np.uint64(0x94D049BB133111EB)
    return value ^ (value >> np.uint64(32))


@kernel
def same_name(
    one: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int
) -> bool:
    if end - start != other_end - other_start:
        return False
    for k in range(end - start):
        if one[start + k] != other[other_start + k]:
            return False
    return True


@kernel
def build_table(buffer: Bytes, offsets: Int64s) -> Int32s:
    """An open-addressing hash table of distinct names: slot -> position, or -1."""
    count = len(offsets) - 1
    size = 16
    while size < 2 * count:
        size *= 2
    slots = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    for i in range(count):
        slot = hash_name(buffer, offsets[i], offsets[i + 1]) & mask
        while slots[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        slots[slot] = i
    return slots


@kernel
def look_up(
    slots: Int32s,
    known: Bytes,
    offsets: Int64s,
    buffer: Bytes,
    starts: Spans,
    ends: Spans,
) -> Int32s:
    """The position of each name in a table made by `build_table`, or -1."""
    mask = np.uint64(len(slots) - 1)
    found = np.full(len(starts), -1, np.int32)
    for i in range(len(starts)):
        slot = hash_name(buffer, starts[i], ends[i]) & mask
        while slots[slot] >= 0:
            k = slots[slot]
            if same_name(buffer, starts[i], ends[i], known, offsets[k], offsets[k + 1]):
                found[i] = k
                break
            slot = (slot + np.uint64(1)) & mask
    return found


@kernel
def distinct(buffer: Bytes, starts: Spans, ends: Spans) -> tuple[Int32s, Int32s]:
    """A code for each name, and the first place of each code, in order of place."""
    size = 16
    while size < 2 * len(starts):
        size *= 2
    slots = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    codes = np.empty(len(starts), np.int32)
    firsts = np.empty(len(starts), np.int32)
    count = 0
    for i in range(len(starts)):
        slot = hash_name(buffer, starts[i], ends[i]) & mask
        while True:
            code = slots[slot]
            if code < 0:
                slots[slot] = count
                firsts[count] = i
                codes[i] = count
                count += 1
                break
            first = firsts[code]
            if same_name(
                buffer, starts[i], ends[i], buffer, starts[first], ends[first]
            ):
                codes[i] = code
                break
            slot = (slot + np.uint64(1)) & mask
    return codes, firsts[:count].copy()


@kernel
def hash_buckets(buffer: Bytes, starts: Spans, ends: Spans, buckets: int) -> Int32s:
    """A bucket for each name, by its hash."""
    found = np.empty(len(starts), np.int32)
    for i in range(len(starts)):
        value = hash_name(buffer, starts[i], ends[i])
        found[i] = (value >> np.uint64(17)) % np.uint64(buckets)
    return found


@kernel
def compare(
    one: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int
) -> int:
    """Below, at or above zero, as the first name sorts before, with or after."""
    for k in range(min(end - start, other_end - other_start)):
        # Compared, not subtracted: bytes are unsigned to the compiler.
        if one[start + k] < other[other_start + k]:
            return -1
        if one[start + k] > other[other_start + k]:
            return 1
    return (end - start) - (other_end - other_start)


@kernel
def range_buckets(
    buffer: Bytes, starts: Spans, ends: Spans, bounds: Bytes, bound_offsets: Int64s
) -> Int32s:
    """A bucket for each name: how many of the ascending bounds are at most it."""
    count = len(bound_offsets) - 1
    keys = prefix_keys(bounds, bound_offsets[:-1], bound_offsets[1:], 0)
    found = np.empty(len(starts), np.int32)
    for i in range(len(starts)):
        key = prefix_key(buffer, starts[i], ends[i])
        low, high = 0, count
        while low < high:
            middle = (low + high) // 2
            if keys[middle] != key:
                after = keys[middle] > key
            else:
                after = (
                    compare(
                        bounds,
                        bound_offsets[middle],
                        bound_offsets[middle + 1],
                        buffer,
                        starts[i],
                        ends[i],
                    )
                    > 0
                )
            if after:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found


@kernel
def prefix_key(buffer: Bytes, start: int, end: int) -> np.uint64:
    """The first eight bytes as a number that sorts as they do."""
    key = np.uint64(0)
    stop = min(start + 8, end)
    for k in range(start, stop):
        key = (key << np.uint64(8)) | np.uint64(buffer[k])
    return key << np.uint64(8 * (8 - max(0, stop - start)))


@kernel
def prefix_keys(buffer: Bytes, starts: Spans, ends: Spans, skip: int) -> UInt64s:
    """Of each name, the eight bytes that follow the first `skip`, as a number."""
    keys = np.zeros(len(starts), np.uint64)
    for i in range(len(starts)):
        if ends[i] - starts[i] > skip:
            keys[i] = prefix_key(buffer, starts[i] + skip, ends[i])
    return keys


@kernel
def _common_prefix(buffer: Bytes, starts: Spans, ends: Spans) -> int:
    shared = int(ends[0] - starts[0])
    for i in range(1, len(starts)):
        shared = min(shared, int(ends[i] - starts[i]))
        for k in range(shared):
            if buffer[starts[i] + k] != buffer[starts[0] + k]:
                shared = k
                break
    return shared


@kernel
def _settle_small_runs(
    buffer: Bytes,
    starts: Spans,
    ends: Spans,
    order: Int64s,
    keys: UInt64s,
    skip: int,
    longest: int,
) -> Int64s:
    """Put names with equal keys in order, in place; returns (start, end) of the
    runs of equal keys that are longer than `longest`, flattened."""
    left = [np.int64(0) for _ in range(0)]
    at = 0
    count = len(order)
    while at < count:
        end = at + 1
        differ = ends[order[at]] - starts[order[at]] > skip + 8
        size = ends[order[at]] - starts[order[at]]
        while end < count and keys[order[end]] == keys[order[at]]:
            other = ends[order[end]] - starts[order[end]]
            differ = differ or other != size or other > skip + 8
            end += 1
        if end - at > 1 and differ:
            if end - at > longest:
                left.append(np.int64(at))
                left.append(np.int64(end))
            else:
                for i in range(at + 1, end):
                    moving = order[i]
                    k = i
                    while (
                        k > at
                        and compare(
                            buffer,
                            starts[order[k - 1]],
                            ends[order[k - 1]],
                            buffer,
                            starts[moving],
                            ends[moving],
                        )
                        > 0
                    ):
                        order[k] = order[k - 1]
                        k -= 1
                    order[k] = moving
        at = end
    found = np.empty(len(left), np.int64)
    for i in range(len(left)):
        found[i] = left[i]
    return found


def sort_order(buffer: Bytes, starts: Spans, ends: Spans) -> Int64s:
    """The places of the names in byte order; equal names are neighbours.

    Sorts by eight bytes at a time, as numbers; only names that tie go on.
    """
    if len(starts) == 0:
        return np.zeros(0, np.int64)
    skip = _common_prefix(buffer, starts, ends)
    return _sorted_from(buffer, starts, ends, np.arange(len(starts)), skip)


def _sorted_from(
    buffer: Bytes, starts: Spans, ends: Spans, names: Int64s, skip: int
) -> Int64s:
    keys = prefix_keys(buffer, starts[names], ends[names], skip)
    order = np.argsort(keys)
    local_starts, local_ends = starts[names], ends[names]
    runs = _settle_small_runs(
        buffer, local_starts, local_ends, order, keys, skip, _SMALL_RUN
    )
    for start, end in runs.reshape(-1, 2):
        run = order[start:end]
        lengths = local_ends[run] - local_starts[run]
        # Names that end within these eight bytes differ by their length alone.
        short = run[lengths <= skip + 8]
        short = short[
            np.argsort(local_ends[short] - local_starts[short], kind="stable")
        ]
        rest = run[lengths > skip + 8]
        if len(rest):
            rest = _sorted_from(buffer, local_starts, local_ends, rest, skip + 8)
        order[start:end] = np.concatenate([short, rest])
    return names[order]


@kernel
def gather(buffer: Bytes, starts: Spans, ends: Spans) -> tuple[Bytes, Int64s]:
    """The names one after the other in a buffer of their own, and its offsets."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for i in range(len(starts)):
        offsets[i + 1] = offsets[i] + (ends[i] - starts[i])
    data = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        at = offsets[i]
        for k in range(starts[i], ends[i]):
            data[at] = buffer[k]
            at += 1
    return data, offsets


@kernel
def run_starts(buffer: Bytes, starts: Spans, ends: Spans) -> Int64s:
    """Where a name differs from the one before it; the first place always counts."""
    found = np.empty(len(starts), np.int64)
    count = 0
    for i in range(len(starts)):
        if i == 0 or not same_name(
            buffer, starts[i], ends[i], buffer, starts[i - 1], ends[i - 1]
        ):
            found[count] = i
            count += 1
    return found[:count].copy()
