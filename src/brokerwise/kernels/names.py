"""Names, one and many: read a word at a time, hashed, compared, looked up, put in
order, spread over ranges.

A name is bytes [start, end) of a buffer, in UTF-8; its order is that of its bytes.
Eight bytes at a position without a sign are one load to the compiler.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Bytes, Int32s, Int64s

Word = np.uint64

Words = npt.NDArray[np.uint64]
Spans: TypeAlias = Int32s | Int64s

_LONG = 9  # in a table, the size of every name that is longer than a word
_PLACE = 0xFFFF_FFFF
_BATCH = 256  # slots that fit the nearest cache
_FEW = 32  # names that are quicker put in order by comparing them


@leaf
def eight(buffer: Bytes, at: Word) -> Word:
    """Eight bytes as a number that sorts as they do."""
    return (
        (Word(buffer[at]) << Word(56))
        | (Word(buffer[at + Word(1)]) << Word(48))
        | (Word(buffer[at + Word(2)]) << Word(40))
        | (Word(buffer[at + Word(3)]) << Word(32))
        | (Word(buffer[at + Word(4)]) << Word(24))
        | (Word(buffer[at + Word(5)]) << Word(16))
        | (Word(buffer[at + Word(6)]) << Word(8))
        | Word(buffer[at + Word(7)])
    )


@leaf
def fewer(buffer: Bytes, at: Word, size: Word) -> Word:
    """Up to seven bytes as a number; near its end the buffer has no eight."""
    if at + Word(8) <= Word(len(buffer)):
        return (eight(buffer, at) >> (Word(56) - Word(8) * size)) >> Word(8)
    word = Word(0)
    for k in range(size):
        word = (word << Word(8)) | Word(buffer[at + Word(k)])
    return word


@leaf
def prefix_key(buffer: Bytes, start: int, end: int) -> Word:
    """The first eight bytes as a number that sorts as they do; zeros for want."""
    if end - start >= 8:
        return eight(buffer, Word(start))
    size = Word(end - start)
    return (fewer(buffer, Word(start), size) << (Word(56) - Word(8) * size)) << Word(8)


@leaf
def mixed(value: Word, word: Word) -> Word:
    value = (value ^ word) * Word(0xBF58476D1CE4E5B9)
    return value ^ (value >> Word(29))


@leaf
def finished(value: Word) -> Word:
    value *= Word(0x94D049BB133111EB)
    return value ^ (value >> Word(32))


@leaf
def hash_name(buffer: Bytes, start: int, end: int) -> Word:
    """A 64-bit hash, eight bytes at a time; the same on every machine."""
    value = Word(0x9E3779B97F4A7C15) ^ Word(end - start)
    at, stop = Word(start), Word(end)
    while at + Word(8) <= stop:
        value = mixed(value, eight(buffer, at))
        at += Word(8)
    if at < stop:
        value = mixed(value, fewer(buffer, at, stop - at))
    return finished(value)


@leaf
def same_name(
    one: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int
) -> bool:
    if end - start != other_end - other_start:
        return False
    at, there, left = Word(start), Word(other_start), Word(end - start)
    while left >= Word(8):
        if eight(one, at) != eight(other, there):
            return False
        at += Word(8)
        there += Word(8)
        left -= Word(8)
    if at + Word(8) <= Word(len(one)) and there + Word(8) <= Word(len(other)):
        differ = eight(one, at) ^ eight(other, there)
        return bool((differ >> (Word(56) - Word(8) * left)) >> Word(8) == Word(0))
    return bool(fewer(one, at, left) == fewer(other, there, left))


@leaf
def compare(
    one: Bytes, start: int, end: int, other: Bytes, other_start: int, other_end: int
) -> int:
    """Below, at or above zero, as the first name sorts before, with or after."""
    size, other_size = end - start, other_end - other_start
    at = 0
    while at < size and at < other_size:
        here = prefix_key(one, start + at, end)
        there = prefix_key(other, other_start + at, other_end)
        if here != there:
            return -1 if here < there else 1
        at += 8
    # Equal but for zeros that one of them may lack at its end.
    return size - other_size


@leaf
def _key(buffer: Bytes, start: int, end: int) -> Word:
    """A name of up to eight bytes itself, as a number; of a longer one its hash."""
    if end - start < 8:
        return fewer(buffer, Word(start), Word(end - start))
    if end - start == 8:
        return eight(buffer, Word(start))
    return hash_name(buffer, start, end)


@leaf
def _size(start: int, end: int) -> int:
    return min(int(end) - int(start), _LONG)


@kernel
def _empty_slots(count: int) -> Int64s:
    """Room for `count` names. A slot is a key, then -1 or size * 2^32 + place."""
    size = 16
    while 3 * size < 4 * count:
        size *= 2
    return np.full(2 * size, -1, np.int64)


@leaf
def _read_ahead(
    slots: Int64s,
    buffer: Bytes,
    starts: Spans,
    ends: Spans,
    first: int,
    keys: Words,
    homes: Words,
    entries: Int64s,
) -> int:
    """The keys of a batch of names, their home slots and what is in these.

    Returns how many the batch has. A table is larger than the caches, and reads
    that do not wait for one another are what makes it fast.
    """
    count = min(_BATCH, len(starts) - first)
    mask = Word(len(slots) // 2 - 1)
    for j in range(count):
        start, end = starts[first + j], ends[first + j]
        keys[j] = _key(buffer, start, end)
        homes[j] = finished(mixed(Word(_size(start, end)), keys[j])) & mask
    for j in range(count):
        entries[j] = slots[Word(2) * homes[j] + Word(1)]
    return count


@leaf
def _read_texts(known: Bytes, starts: Spans, entries: Int64s, count: int) -> None:
    """Read ahead what long names will be compared with, for the same reason."""
    for j in range(count):
        long = entries[j] >= _LONG << 32
        entries[j] = starts[entries[j] & _PLACE] if long else -1
    for j in range(count):
        if entries[j] >= 0:
            entries[j] = known[entries[j]]


class NameTable(NamedTuple):
    """Slots, and the names that are in them."""

    slots: Int64s
    buffer: Bytes
    starts: Spans
    ends: Spans


@leaf
def _slot_of(
    table: NameTable, slot: Word, key: Word, buffer: Bytes, start: int, end: int
) -> Word:
    """From its home slot on, the slot of a name in a table, or one for it.

    The key tells short names apart; of longer ones the text is compared.
    """
    slots, known, starts, ends = table
    mask = Word(len(slots) // 2 - 1)
    size = _size(start, end)
    while True:
        entry = slots[Word(2) * slot + Word(1)]
        if entry < 0:
            return slot
        if slots[Word(2) * slot] == np.int64(key) and entry >> 32 == size:
            at = entry & _PLACE
            if size < _LONG or same_name(
                buffer, start, end, known, starts[at], ends[at]
            ):
                return slot
        slot = (slot + Word(1)) & mask


@kernel
def build_table(buffer: Bytes, offsets: Int64s) -> Int64s:
    """An open-addressing hash table of distinct names, for `look_up`."""
    starts, ends = offsets[:-1], offsets[1:]
    slots = _empty_slots(len(starts))
    mask = Word(len(slots) // 2 - 1)
    keys, homes = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    entries = np.empty(_BATCH, np.int64)
    for first in range(0, len(starts), _BATCH):
        count = _read_ahead(slots, buffer, starts, ends, first, keys, homes, entries)
        for j in range(count):
            i = first + j
            slot = homes[j]
            while slots[Word(2) * slot + Word(1)] >= 0:
                slot = (slot + Word(1)) & mask
            slots[Word(2) * slot] = np.int64(keys[j])
            slots[Word(2) * slot + Word(1)] = (_size(starts[i], ends[i]) << 32) | i
    return slots


@kernel
def look_up(
    slots: Int64s,
    known: Bytes,
    offsets: Int64s,
    buffer: Bytes,
    starts: Spans,
    ends: Spans,
) -> Int32s:
    """The position of each name in a table made by `build_table`, or -1."""
    found = np.empty(len(starts), np.int32)
    table = NameTable(slots, known, offsets[:-1], offsets[1:])
    keys, homes = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    entries = np.empty(_BATCH, np.int64)
    for first in range(0, len(starts), _BATCH):
        count = _read_ahead(slots, buffer, starts, ends, first, keys, homes, entries)
        _read_texts(known, table.starts, entries, count)
        for j in range(count):
            i = first + j
            start, end = starts[i], ends[i]
            slot = _slot_of(table, homes[j], keys[j], buffer, start, end)
            entry = slots[Word(2) * slot + Word(1)]
            found[i] = entry & _PLACE if entry >= 0 else -1
    return found


@kernel
def distinct(buffer: Bytes, starts: Spans, ends: Spans) -> tuple[Int32s, Int32s]:
    """A code for each name, and the first place of each code, in order of place."""
    slots = _empty_slots(len(starts))
    table = NameTable(slots, buffer, starts, ends)
    codes = np.empty(len(starts), np.int32)
    firsts = np.empty(len(starts), np.int32)
    keys, homes = np.empty(_BATCH, np.uint64), np.empty(_BATCH, np.uint64)
    entries = np.empty(_BATCH, np.int64)
    total = 0
    for first in range(0, len(starts), _BATCH):
        count = _read_ahead(slots, buffer, starts, ends, first, keys, homes, entries)
        _read_texts(buffer, starts, entries, count)
        for j in range(count):
            i = first + j
            start, end = starts[i], ends[i]
            slot = _slot_of(table, homes[j], keys[j], buffer, start, end)
            entry = slots[Word(2) * slot + Word(1)]
            if entry >= 0:
                codes[i] = codes[entry & _PLACE]
            else:
                slots[Word(2) * slot] = np.int64(keys[j])
                slots[Word(2) * slot + Word(1)] = (_size(start, end) << 32) | i
                codes[i] = total
                firsts[total] = i
                total += 1
    return codes, firsts[:total].copy()


@kernel
def hash_buckets(buffer: Bytes, starts: Spans, ends: Spans, buckets: int) -> Int32s:
    """A bucket for each name, by its hash."""
    found = np.empty(len(starts), np.int32)
    for i in range(len(starts)):
        value = hash_name(buffer, starts[i], ends[i])
        found[i] = (value >> Word(17)) % Word(buckets)
    return found


@kernel
def range_buckets(
    buffer: Bytes, starts: Spans, ends: Spans, bounds: Bytes, bound_offsets: Int64s
) -> Int32s:
    """A bucket for each name: how many of the ascending bounds are at most it."""
    lows, highs = bound_offsets[:-1], bound_offsets[1:]
    keys = np.empty(len(lows), np.uint64)
    for b in range(len(keys)):
        keys[b] = prefix_key(bounds, lows[b], highs[b])
    found = np.empty(len(starts), np.int32)
    for i in range(len(starts)):
        start, end = starts[i], ends[i]
        key = prefix_key(buffer, start, end)
        low, high = 0, len(keys)
        while low < high:
            middle = (low + high) // 2
            after = keys[middle] > key
            if keys[middle] == key:
                after = (
                    compare(bounds, lows[middle], highs[middle], buffer, start, end) > 0
                )
            if after:
                high = middle
            else:
                low = middle + 1
        found[i] = low
    return found


@leaf
def _sort_key(buffer: Bytes, start: int, end: int) -> Word:
    """Seven bytes and how many there are (8: more), as a number that sorts as names
    do. Names with the same key are the same, unless there are more bytes."""
    if end - start >= 8:
        return (eight(buffer, Word(start)) & ~Word(255)) | Word(8)
    return prefix_key(buffer, start, end) | Word(end - start)


@leaf
def _fill_keys(
    buffer: Bytes, starts: Spans, ends: Spans, names: Int64s, skip: int, keys: Words
) -> int:
    """Keys of names that start with the same `skip` bytes, from there on; returns
    how many bytes more they all start with, up to seven."""
    differ = Word(0)
    shared = 7
    for i in range(len(names)):
        key = _sort_key(buffer, starts[names[i]] + skip, ends[names[i]])
        keys[i] = key
        differ |= key ^ keys[0]
        # To numba, the least of a number and a word would be a float.
        shared = min(shared, int(np.int64(key & Word(255))))
    while shared and differ >> Word(64 - 8 * shared):
        shared -= 1
    return shared


@leaf
def _sort_by_key(
    names: Int64s, keys: Words, more_names: Int64s, more_keys: Words, at: Int64s
) -> None:
    """Sort names by key, stable, one byte after the other; `more_*` and `at` (256)
    are room to work in."""
    differ = Word(0)
    for key in keys:
        differ |= key ^ keys[0]
    swapped = False
    for shift in range(0, 64, 8):
        if (differ >> Word(shift)) & Word(255) == Word(0):
            continue
        for byte in range(256):
            at[byte] = 0
        for key in keys:
            at[(key >> Word(shift)) & Word(255)] += 1
        total = 0
        for byte in range(256):
            total, at[byte] = total + at[byte], total
        for i in range(len(keys)):
            byte = (keys[i] >> Word(shift)) & Word(255)
            more_keys[at[byte]], more_names[at[byte]] = keys[i], names[i]
            at[byte] += 1
        names, keys, more_names, more_keys = more_names, more_keys, names, keys
        swapped = not swapped
    if swapped:
        for i in range(len(keys)):
            more_keys[i], more_names[i] = keys[i], names[i]


@leaf
def _sort_few(
    buffer: Bytes, starts: Spans, ends: Spans, names: Int64s, skip: int
) -> None:
    """Sort names that start with the same `skip` bytes by inserting one by one."""
    for i in range(1, len(names)):
        moving = names[i]
        start, end = starts[moving] + skip, ends[moving]
        k = i
        while k > 0:
            other = names[k - 1]
            other_start, other_end = starts[other] + skip, ends[other]
            if compare(buffer, other_start, other_end, buffer, start, end) <= 0:
                break
            names[k] = other
            k -= 1
        names[k] = moving


@kernel
def sort_order(buffer: Bytes, starts: Spans, ends: Spans) -> Int64s:
    """The places of the names in byte order; of equal names the first place first.

    Sorts by seven bytes at a time, as numbers; only names that tie go on.
    """
    order = np.arange(len(starts))
    keys = np.empty(len(order), np.uint64)
    more_order, more_keys = np.empty_like(order), np.empty_like(keys)
    counts = np.empty(256, np.int64)
    todo = [(0, len(order), 0)]
    while len(todo):
        start, end, skip = todo.pop()
        names = order[start:end]
        if len(names) <= _FEW:
            _sort_few(buffer, starts, ends, names, skip)
            continue
        ties = keys[start:end]
        shared = _fill_keys(buffer, starts, ends, names, skip, ties)
        if shared:
            todo.append((start, end, skip + shared))
            continue
        _sort_by_key(names, ties, more_order[start:end], more_keys[start:end], counts)
        at = 0
        while at < len(ties):
            tie = at + 1
            while tie < len(ties) and ties[tie] == ties[at]:
                tie += 1
            if tie - at > 1 and ties[at] & Word(255) == Word(8):
                todo.append((start + at, start + tie, skip + 7))
            at = tie
    return order


@kernel
def gather(buffer: Bytes, starts: Spans, ends: Spans) -> tuple[Bytes, Int64s]:
    """The names one after the other in a buffer of their own, and its offsets."""
    offsets = np.zeros(len(starts) + 1, np.int64)
    for i in range(len(starts)):
        offsets[i + 1] = offsets[i] + (ends[i] - starts[i])
    data = np.empty(offsets[-1], np.uint8)
    for i in range(len(starts)):
        at = Word(offsets[i])
        for k in range(Word(starts[i]), Word(ends[i])):
            data[at] = buffer[k]
            at += Word(1)
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
