"""Rows of text, against Python's own formatting."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.text import csv_chunks

numbers = st.one_of(st.integers(0, 120), st.integers(0, 2**63 - 1))
prefixes = st.sampled_from(["", "t", "topic-"])


def rows(left_prefix: str, left: list[int], right_prefix: str, right: list[int]) -> str:
    chunks = csv_chunks(
        left_prefix, np.array(left, np.int64), right_prefix, np.array(right, np.int64)
    )
    return b"".join(chunk.tobytes() for chunk in chunks).decode()


@given(st.lists(st.tuples(numbers, numbers), max_size=40), prefixes, prefixes)
def test_rows_are_what_python_writes(
    pairs: list[tuple[int, int]], left_prefix: str, right_prefix: str
) -> None:
    expected = "".join(f"{left_prefix}{a},{right_prefix}{b}\n" for a, b in pairs)
    left, right = [a for a, _ in pairs], [b for _, b in pairs]
    assert rows(left_prefix, left, right_prefix, right) == expected


def test_rows_go_on_over_many_chunks() -> None:
    left = list(range(200_000))
    right = [n // 7 for n in left]
    expected = "".join(f"t{a},u{b}\n" for a, b in zip(left, right, strict=True))
    assert rows("t", left, "u", right) == expected
