"""Single names: read a word at a time, hashed, compared.

A name is bytes [start, end) of a buffer; its order is that of its bytes. Eight
bytes at a position without a sign are one load to the compiler.
"""

import numpy as np

from brokerwise.kernels.compile import leaf
from brokerwise.model.arrays import Bytes

Word = np.uint64


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
