"""Many names at once, against lists, dicts and bisect."""

import random
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby, pairwise
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.kernels.interpreted import interpreted
from tests.tiers import examples

from brokerwise.kernels import names as kernels
from brokerwise.kernels.names import Word
from brokerwise.model.arrays import Bytes, Int64s, read_only

WORD = 2**64

# Few letters, so that names share prefixes and repeat; the first and last byte.
SHORT = st.lists(st.sampled_from(b"\x00ab\xff"), max_size=18).map(bytes)
NAMES = st.lists(
    SHORT
    | st.tuples(st.sampled_from([b"", b"common-prefix", b"c" * 40]), SHORT).map(
        b"".join
    ),
    max_size=60,
)


def spans(
    names: Sequence[bytes], dtype: Any = np.int32, gap: bytes = b""
) -> tuple[Bytes, Any, Any]:
    """The names in a buffer, which ends with the last of them."""
    lengths = np.array([len(name) for name in names], dtype)
    ends = np.cumsum(lengths + len(gap), dtype=dtype)
    text = b"".join(gap + name for name in names)
    return np.frombuffer(text, np.uint8), ends - lengths, ends


def table(names: Sequence[bytes]) -> tuple[Bytes, Int64s]:
    """As a workload has them: read-only."""
    buffer, _, ends = spans(names, np.int64)
    offsets = np.concatenate([[0], ends]).astype(np.int64)
    return buffer, read_only(offsets)


def sorted_places(names: Sequence[bytes]) -> list[int]:
    return sorted(range(len(names)), key=lambda i: names[i])


@given(NAMES)
def test_the_order_is_that_of_the_bytes_and_equal_names_keep_theirs(
    names: list[bytes],
) -> None:
    order = kernels.sort_order(*spans(names, np.int64, gap=b"!"))
    assert order.tolist() == sorted_places(names)


MANY: dict[str, Callable[[random.Random], bytes]] = {
    "numbers": lambda rng: b"u%d" % rng.randrange(3000),
    "padded numbers": lambda rng: b"user-%012d" % rng.randrange(3000),
    "long, one prefix": lambda rng: b"x" * 1000 + bytes(rng.choices(b"abc", k=24)),
    "prefixes of each other": lambda rng: b"ab" * rng.randrange(500),
    "zeros at the end": lambda rng: b"a" + bytes(rng.randrange(30)),
    "zeros and more": lambda rng: bytes(rng.choices(b"\0\0\0\1", k=rng.randrange(20))),
    "few different": lambda rng: rng.choice([b"", b"same name", b"\xff" * 8, b"same"]),
    "all equal": lambda rng: b"the very same name",
    "two groups": lambda rng: (
        rng.choice([b"http://a.b/", b"https://c.d/"])
        + bytes(rng.choices(b"\x00\x80\xff", k=9))
    ),
    "anything": lambda rng: rng.randbytes(rng.randrange(40)),
}


@pytest.mark.parametrize("kind", MANY)
def test_thousands_of_names_are_put_in_order(kind: str) -> None:
    rng = random.Random(kind)
    names = [MANY[kind](rng) for _ in range(3000)]
    assert kernels.sort_order(*spans(names, np.int64)).tolist() == sorted_places(names)


@pytest.mark.parametrize("kind", MANY)
def test_thousands_of_names_are_told_apart_and_found(kind: str) -> None:
    rng = random.Random(kind)
    names = [MANY[kind](rng) for _ in range(3000)]
    known = list(dict.fromkeys(names[:1000]))
    codes, firsts = kernels.distinct(*spans(names))
    assert [names[i] for i in firsts] == list(dict.fromkeys(names))
    assert [names[firsts[code]] for code in codes] == names
    expected = {name: place for place, name in enumerate(known)}
    assert found(known, names) == [expected.get(name, -1) for name in names]


def found(known: Sequence[bytes], names: Sequence[bytes]) -> list[int]:
    text, offsets = table(known)
    slots = kernels.build_table(text, offsets)
    places = kernels.look_up(slots, text, offsets, *spans(names, gap=b"?"))
    return [int(place) for place in places]


def test_names_that_are_one_number_differ_by_their_size() -> None:
    letters = b"abcdefghijklmnopqrstuvwxyz"
    names = [bytes(zeros) for zeros in range(9)]
    names += [bytes(zeros) + bytes([x]) for zeros in range(8) for x in letters]
    assert found(names, names) == list(range(len(names)))
    assert found(names[::2], names[1::2]) == [-1] * (len(names) // 2)
    codes, _ = kernels.distinct(*spans(names + names))
    assert codes.tolist() == [*range(len(names)), *range(len(names))]


@given(NAMES, NAMES)
def test_names_are_found_as_in_a_dict(names: list[bytes], others: list[bytes]) -> None:
    known = list(dict.fromkeys(names))
    expected = {name: place for place, name in enumerate(known)}
    asked = others + names
    assert found(known, asked) == [expected.get(name, -1) for name in asked]


@given(NAMES, st.sampled_from([np.int32, np.int64]))
def test_equal_names_have_one_code_numbered_by_first_place(
    names: list[bytes], dtype: Any
) -> None:
    codes, firsts = kernels.distinct(*spans(names, dtype))
    numbers: dict[bytes, int] = {}
    expected = [numbers.setdefault(name, len(numbers)) for name in names]
    assert codes.tolist() == expected
    assert firsts.tolist() == [names.index(name) for name in numbers]


@contextmanager
def one_hash_for_all() -> Iterator[None]:
    """The worst hash: long names differ by their text alone."""
    with (
        interpreted(kernels),
        patch.object(kernels, "hash_name", lambda *_: Word(5)),
    ):
        yield


@settings(max_examples=examples(50))
@given(NAMES, NAMES)
def test_names_with_the_same_hash_are_told_apart(
    names: list[bytes], others: list[bytes]
) -> None:
    known = list(dict.fromkeys(names))
    expected = {name: place for place, name in enumerate(known)}
    with one_hash_for_all():
        assert found(known, others) == [expected.get(name, -1) for name in others]
        codes, firsts = kernels.distinct(*spans(names))
    assert [names[firsts[code]] for code in codes] == names
    assert len(firsts) == len(known)


@given(NAMES, NAMES, st.sampled_from([np.int32, np.int64]))
def test_a_range_is_the_number_of_bounds_at_most_the_name(
    names: list[bytes], cuts: list[bytes], dtype: Any
) -> None:
    bounds = sorted(set(cuts))
    buckets = kernels.range_buckets(*spans(names, dtype), *table(bounds))
    assert buckets.tolist() == [bisect_right(bounds, name) for name in names]


@given(NAMES, st.integers(1, 7), st.sampled_from([np.int32, np.int64]))
def test_equal_names_share_a_bucket(
    names: list[bytes], buckets: int, dtype: Any
) -> None:
    chosen = kernels.hash_buckets(*spans(names, dtype, gap=b"."), buckets).tolist()
    assert all(0 <= bucket < buckets for bucket in chosen)
    assert len(set(zip(names, chosen, strict=True))) == len(set(names))


def test_hashes_spread_names_evenly() -> None:
    names = [b"t%d" % i for i in range(40_000)]
    sizes = np.bincount(kernels.hash_buckets(*spans(names), 8))
    assert sizes.min() > 4700
    assert sizes.max() < 5300


@given(SHORT)
def test_a_hash_follows_from_the_bytes_alone(name: bytes) -> None:
    value = 0x9E3779B97F4A7C15 ^ len(name)
    for at in range(0, len(name), 8):
        word = int.from_bytes(name[at : at + 8], "big")
        value = (value ^ word) * 0xBF58476D1CE4E5B9 % WORD
        value ^= value >> 29
    value = value * 0x94D049BB133111EB % WORD
    for text in (name, b"before" + name, b"before" + name + b"far behind"):
        start = text.index(name) if name else 0
        buffer = np.frombuffer(text, np.uint8)
        hashed = kernels.hash_name(buffer, start, start + len(name))
        assert int(hashed) == value ^ (value >> 32)


@given(SHORT, SHORT, st.sampled_from([b"", b"something"]))
def test_two_names_are_compared_as_bytes_are(
    one: bytes, other: bytes, behind: bytes
) -> None:
    here = np.frombuffer(b"x" + one + behind, np.uint8)
    there = np.frombuffer(other + behind, np.uint8)
    span = (here, 1, 1 + len(one), there, 0, len(other))
    assert kernels.same_name(*span) == (one == other)
    assert np.sign(kernels.compare(*span)) == (one > other) - (one < other)


@given(NAMES, st.data(), st.sampled_from([np.int32, np.int64]))
def test_gathered_names_stand_one_after_the_other(
    names: list[bytes], data: st.DataObject, dtype: Any
) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(names) - 1))) if names else []
    buffer, starts, ends = spans(names, dtype, gap=b"-")
    text, offsets = kernels.gather(buffer, starts[chosen], ends[chosen])
    assert text.tobytes() == b"".join(names[i] for i in chosen)
    parts = [text[a:b].tobytes() for a, b in pairwise(offsets)]
    assert parts == [names[i] for i in chosen]


@given(st.lists(st.sampled_from([b"", b"a", b"a\0", b"b" * 20, b"b" * 19 + b"c"])))
def test_a_run_starts_where_a_name_differs_from_the_last(names: list[bytes]) -> None:
    lengths = [len(list(run)) for _, run in groupby(names)]
    expected = [sum(lengths[:k]) for k in range(len(lengths))]
    assert kernels.run_starts(*spans(names)).tolist() == expected


@settings(max_examples=examples(60))
@given(NAMES.map(lambda names: names[:12]))
def test_names_are_handled_alike_in_plain_python(names: list[bytes]) -> None:
    compiled = everything(names)
    with interpreted(kernels):
        assert everything(names) == compiled


def test_forty_names_are_sorted_alike_in_plain_python() -> None:
    rng = random.Random(3)
    names = [bytes(rng.choices(b"\0ab", k=rng.randrange(30))) for _ in range(80)]
    with interpreted(kernels):
        order = kernels.sort_order(*spans(names, np.int64))
    assert order.tolist() == sorted_places(names)


def everything(names: list[bytes]) -> list[Any]:
    """What all kernels make of some names, the last of which ends the buffer."""
    buffer, starts, ends = spans(names)
    results: list[Any] = [
        kernels.sort_order(*spans(names, np.int64)),
        kernels.hash_buckets(buffer, starts, ends, 5),
        kernels.run_starts(buffer, starts, ends),
        kernels.range_buckets(buffer, starts, ends, *table(sorted(set(names)))),
        *kernels.distinct(buffer, starts, ends),
        *kernels.gather(buffer, starts, ends),
    ]
    return [found(sorted(set(names)), names), *(r.tolist() for r in results)]
