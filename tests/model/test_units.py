"""Conversions, against values worked out by hand."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model import units
from brokerwise.model.errors import InputError


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("45", 45),
        ("45s", 45),
        ("90min", 5_400),
        ("36h", 129_600),
        ("10d", 864_000),
        ("2w", 1_209_600),
        ("1.5h", 5_400),
        (" 10 d ", 864_000),
        ("86,400", 86_400),
        ("86_400s", 86_400),
    ],
)
def test_durations_are_whole_seconds(text: str, seconds: int) -> None:
    assert units.parse_seconds(text) == seconds


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("200", 200),
        ("200B", 200),
        ("1.5kB", 1_500),
        ("2KB", 2_000),
        ("8MB", 8_000_000),
        ("1GB", 1_000_000_000),
        ("1.25TB", 1_250_000_000_000),
    ],
)
def test_sizes_are_whole_bytes_in_powers_of_ten(text: str, count: int) -> None:
    assert units.parse_bytes(text) == count


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        # 64e6 / 8 bytes a second * 864,000 s / 200 bytes a message
        ("64Mbit/s", 34_560_000_000),
        ("128 Mbit/s", 69_120_000_000),
        ("0.5Gbit/s", 270_000_000_000),
        ("1kbit/s", 540_000),
        ("1600bit/s", 864_000),
        ("1000", 1_000),
        ("34,560,000,000", 34_560_000_000),
    ],
)
def test_capacities_are_messages_per_period(text: str, messages: int) -> None:
    assert units.parse_capacity(text, 864_000, 200) == messages


@given(
    megabits=st.integers(1, 10**5),
    period=st.integers(1, 10**7),
    message_bytes=st.integers(1, 10**5),
)
def test_a_bandwidth_is_rounded_down_to_whole_messages(
    megabits: int, period: int, message_bytes: int
) -> None:
    exact = Fraction(megabits * 10**6, 8) * period / message_bytes
    text = f"{megabits}Mbit/s"
    if exact < 1:
        with pytest.raises(InputError, match="capacity"):
            units.parse_capacity(text, period, message_bytes)
    else:
        found = units.parse_capacity(text, period, message_bytes)
        assert found <= exact < found + 1


@given(st.integers(1, 10**9), st.integers(1, 10**6), st.integers(1, 10**4))
def test_megabits_give_back_the_bandwidth_of_a_capacity(
    messages: int, period: int, message_bytes: int
) -> None:
    shown = units.megabits_per_second(messages, period, message_bytes)
    assert shown == pytest.approx(messages * message_bytes / period * 8 / 1e6)


@pytest.mark.parametrize(
    ("text", "rate"),
    [("100/s", 100.0), ("90/min", 1.5), ("36/h", 0.01), ("2.5", 2.5)],
)
def test_rates_are_by_the_second(text: str, rate: float) -> None:
    assert units.parse_rate(text) == rate


@pytest.mark.parametrize("text", ["0/s", "fast", "5/x", "-1/s", "5s", ""])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="expected 100/s"):
        units.parse_rate(text, "--rate")


@pytest.mark.parametrize(
    ("text", "share"),
    [("0%", 0.0), ("1%", 0.01), ("3 %", 0.03), ("0.5%", 0.005), ("100%", 1.0)],
)
def test_shares_are_percentages(text: str, share: float) -> None:
    assert units.parse_share(text) == share


PARSERS: dict[str, Callable[[str, str], Any]] = {
    "seconds": units.parse_seconds,
    "bytes": units.parse_bytes,
    "share": units.parse_share,
    "capacity": lambda text, field: units.parse_capacity(text, 10, 200, field),
}
BAD_TEXTS = {
    "seconds": ["", "d", "10x", "-5s", "0", "0.5s", "1.5", "10d 3h", "1e3", "1,5h"],
    "bytes": ["200b", "0B", "1KiB", "0.5B", "five", "1,00B", "1,5kB", "1__0", "1,"],
    "share": ["1", "0.03", "-1%", "101%", "100.5%", "%"],
    "capacity": ["0", "-1", "1.5", "64Mbit", "64MB", "10d", "0Mbit/s", "2e3"],
}


@pytest.mark.parametrize(
    ("kind", "text"), [(kind, text) for kind in PARSERS for text in BAD_TEXTS[kind]]
)
def test_a_bad_text_is_refused_with_its_field_and_what_was_found(
    kind: str, text: str
) -> None:
    with pytest.raises(InputError, match="expected") as refused:
        PARSERS[kind](text, "--option")
    assert refused.value.message.startswith("--option: found ")
    assert repr(text) in refused.value.message or kind == "capacity"


@pytest.mark.parametrize("kind", ["seconds", "bytes", "capacity"])
def test_a_number_past_64_bits_is_refused(kind: str) -> None:
    assert PARSERS[kind](str(2**63 - 1), "n") == 2**63 - 1
    with pytest.raises(
        InputError, match="n: found 9,223,372,036,854,775,808, expected"
    ):
        PARSERS[kind](str(2**63), "n")


@pytest.mark.parametrize("value", [3, np.int8(3), np.uint64(3)])
def test_a_count_becomes_a_plain_int(value: int) -> None:
    assert type(units.checked_count(value, "n")) is int


@pytest.mark.parametrize("value", [-1, 2**63, 1.0, np.float64(2), True, "3", None])
def test_what_is_not_a_count_is_refused(value: Any) -> None:
    with pytest.raises(
        InputError, match=r"^n: found .* expected a whole number from 0 to"
    ):
        units.checked_count(value, "n")


def test_a_count_may_have_a_least_value() -> None:
    assert units.checked_count(1, "n", least=1) == 1
    with pytest.raises(InputError, match="n: found 0, expected a whole number from 1"):
        units.checked_count(0, "n", least=1)


def test_a_price_becomes_a_plain_float() -> None:
    half: Any = np.float32(0.5)
    assert type(units.checked_price(half, "price")) is float
    assert units.checked_price(2, "price") == 2.0


@pytest.mark.parametrize("value", [-0.01, float("nan"), float("inf"), "1", True])
def test_what_is_not_a_price_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match=r"price: found .*, expected zero or more"):
        units.checked_price(value, "price")


def test_volumes_and_hours() -> None:
    assert units.gigabytes(5_000_000, 200) == 1.0
    assert units.hours(864_000) == 240.0
    assert units.HOURS_PER_MONTH == 730
    assert units.megabits_per_second(34_560_000_000, 864_000, 200) == 64.0


def test_numpy_counts_do_not_wrap_around() -> None:
    many: Any = np.int64(2**62)
    thousand: Any = np.int64(1000)
    assert units.gigabytes(many, thousand) == 2**62 * 1000 / 1e9
    assert units.megabits_per_second(many, 1, thousand) == 2**62 * 8000 / 1e6


@pytest.mark.parametrize(
    ("text", "bytes_a_second"),
    [("300MB/s", 3e8), ("64Mbit/s", 8e6), ("1.5 kB/s", 1_500), ("12", 12), ("0", 0)],
)
def test_byte_rates_have_units(text: str, bytes_a_second: float) -> None:
    assert units.parse_byte_rate(text) == bytes_a_second


@pytest.mark.parametrize("text", ["300MB", "3 apples/s", "-1MB/s", "", "5Mbit"])
def test_a_byte_rate_without_a_second_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--beta: found"):
        units.parse_byte_rate(text, "--beta")
