"""How numbers are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.units import told_apart
from brokerwise.show.numbers import (
    counted,
    dollars,
    duration,
    percent,
    significant,
    tick,
)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (1, "1"),
        (9.3518, "9.35"),
        (93.5, "93.5"),
        (100.4, "100"),
        (25_574.6, "25,575"),
        (0.00326, "0.00326"),
        (0.0000456789, "4.57 \N{MULTIPLICATION SIGN} 10⁻⁵"),
    ],
)
def test_three_digits_matter(number: float, text: str) -> None:
    assert significant(number) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(1, "100 %"), (0.99999, "> 99.9 %"), (0.4618, "46.2 %"), (0, "0 %")],
)
def test_only_the_whole_is_a_hundred_percent(share: float, text: str) -> None:
    assert percent(share) == text


@pytest.mark.parametrize(
    ("usd", "text"),
    [
        (0, "$0"),
        (0.0052, "$0.0052"),
        (0.15, "$0.15"),
        (340.2, "$340.20"),
        (1_034.4, "$1,034"),
        (0.0000041, "$4.10 \N{MULTIPLICATION SIGN} 10⁻⁶"),
    ],
)
def test_dollars_have_cents_where_they_matter(usd: float, text: str) -> None:
    assert dollars(usd) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (864_000, "10 days"),
        (86_400, "1 day"),
        (129_600, "36 hours"),
        (90 * 60, "90 minutes"),
        (61, "61 seconds"),
    ],
)
def test_a_duration_is_in_the_largest_unit_that_divides_it(
    seconds: int, text: str
) -> None:
    assert duration(seconds) == text


def test_one_is_singular() -> None:
    assert counted(1, "topic") == "1 topic"
    assert counted(1_204, "topic") == "1,204 topics"


@pytest.mark.parametrize(
    ("digits", "exponent", "text"),
    [
        ("1", 0, "1"),
        ("5", -1, "0.5"),
        ("1.5", 0, "1.5"),
        ("1.5", -3, "0.0015"),
        ("1", -4, "0.0001"),
        ("1", -5, "10⁻⁵"),
        ("2", -6, "2 \N{MULTIPLICATION SIGN} 10⁻⁶"),
        ("2", 3, "2,000"),
        ("1", 5, "100,000"),
        ("1.5", 6, "1.5 M"),
        ("5", 8, "500 M"),
        ("1", 9, "1 G"),
        ("1", 13, "10,000 G"),
    ],
)
def test_ticks_are_short_and_exact(digits: str, exponent: int, text: str) -> None:
    assert tick(digits, exponent) == text


@pytest.mark.parametrize(
    ("numbers", "texts"),
    [
        ((1_188.2, 1_188.36), ("$1,188.20", "$1,188.36")),
        ((1_188.2, 1_034.0), ("$1,188", "$1,034")),
        ((12.0, 12.0), ("$12.00", "$12.00")),
        ((12.0001, 12.0002, 13.0), ("$12.0001", "$12.0002", "$13.0000")),
        ((0.01231, 0.01232), ("$0.01231", "$0.01232")),
        ((999.999, 1_000.0), ("$999.999", "$1,000.00")),
        ((0.09999, 0.1), ("$0.09999", "$0.100")),
        ((0.0, 1e-9), ("$0", "$1.00 \N{MULTIPLICATION SIGN} 10⁻⁹")),
    ],
)
def test_numbers_that_differ_are_told_apart(
    numbers: tuple[float, ...], texts: tuple[str, ...]
) -> None:
    assert told_apart(dollars, *numbers) == texts


@given(st.lists(st.floats(0, 1e12), min_size=2, max_size=4), st.floats(0, 1e-6))
def test_no_two_numbers_are_written_alike(numbers: list[float], part: float) -> None:
    numbers.append(numbers[0] * (1 + part))
    for write in (dollars, significant):
        texts = told_apart(write, *numbers)
        assert len(set(texts)) == len(set(numbers))
