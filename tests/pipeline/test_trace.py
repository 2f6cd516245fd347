"""Uniform traces, against their definition."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.model.errors import InputError
from brokerwise.pipeline.progress import Stopwatch
from brokerwise.pipeline.trace import (
    RateRange,
    Uniform,
    draw_rates,
    generate_uniform,
    pair_blocks,
)
from brokerwise.storage.place import Place


@st.composite
def uniform_traces(draw: st.DrawFn) -> Uniform:
    topics = draw(st.integers(1, 60))
    least = draw(st.integers(0, 30))
    return Uniform(
        topics,
        draw(st.integers(1, 80)),
        draw(st.integers(1, topics)),
        RateRange(least, least + draw(st.integers(0, 20))),
    )


@given(uniform_traces(), st.integers(0, 2**40))
def test_each_subscriber_wants_that_many_different_topics(
    trace: Uniform, seed: int
) -> None:
    blocks = list(pair_blocks(trace, seed))
    topics, subscribers = (np.concatenate(part) for part in zip(*blocks, strict=True))
    assert (subscribers == np.repeat(np.arange(trace.subscribers), trace.each)).all()
    lists = topics.reshape(trace.subscribers, trace.each)
    assert all(len(set(row)) == trace.each for row in lists.tolist())
    assert 0 <= topics.min() <= topics.max() < trace.topics


def test_topics_and_rates_are_equally_likely() -> None:
    trace = Uniform(240, 60_000, 5, RateRange(8, 19))
    seen = np.zeros(240, np.int64)
    for topics, _ in pair_blocks(trace, 1):
        seen += np.bincount(topics, minlength=240)
    # A topic is wanted by each subscriber with probability 5 / 240.
    assert np.abs(seen - 1250).max() < 5 * np.sqrt(1250)
    rates = draw_rates(Uniform(120_000, 1, 1, RateRange(8, 19)), 1)
    counts = np.bincount(rates)
    assert not counts[:8].any()
    assert len(counts) == 20
    assert np.abs(counts[8:] - 10_000).max() < 5 * 100


def test_a_trace_over_several_blocks_and_files_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("brokerwise.pipeline.trace._PAIRS_PER_BLOCK", 1_000)
    monkeypatch.setattr("brokerwise.pipeline.trace.PAIRS_PER_FILE", 3_000)
    trace = Uniform(100, 1_600, 4, RateRange(10, 10))
    out = Place(str(tmp_path / "trace"))
    header = generate_uniform(trace, 7, out, progress=Stopwatch())
    paths = sorted(tmp_path.glob("trace/pairs/*"))
    assert header["pairs"] == 6_400
    assert header["files"]["pairs"] == [path.name for path in paths]
    parts = [pd.read_csv(path) for path in paths]
    assert [len(part) for part in parts] == [3_000, 3_000, 400]
    pairs = pd.concat(parts)
    assert (pairs.groupby("subscriber").topic.nunique() == 4).all()
    assert pairs.subscriber.nunique() == 1_600


def test_files_are_plain_csv(tmp_path: Path) -> None:
    trace = Uniform(3, 2, 2, RateRange(5, 5))
    generate_uniform(trace, 1, Place(str(tmp_path / "t")), progress=Stopwatch())
    with (tmp_path / "t/rates/part-00000.csv").open() as file:
        assert list(csv.reader(file)) == [
            ["topic", "rate"],
            ["t0", "5"],
            ["t1", "5"],
            ["t2", "5"],
        ]
    with (tmp_path / "t/pairs/part-00000.csv").open() as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["topic", "subscriber"]
    assert [row[1] for row in rows[1:]] == ["u0", "u0", "u1", "u1"]


@pytest.mark.parametrize(
    ("text", "least", "most"), [("10", 10, 10), ("8-19", 8, 19), ("0-0", 0, 0)]
)
def test_rates_are_a_number_or_a_range(text: str, least: int, most: int) -> None:
    assert RateRange.parse(text) == RateRange(least, most)
    assert RateRange.parse(str(RateRange(least, most))) == RateRange(least, most)


@pytest.mark.parametrize(
    "text", ["19-8", "x", "", "-5", "5-", "1.5", "8-19-20", "9" * 19, "9" * 40]
)
def test_other_rates_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--rates: found .*expected a whole number"):
        RateRange.parse(text)


@pytest.mark.parametrize(
    ("topics", "subscribers", "each", "message"),
    [
        (0, 5, 1, "--topics: found 0, expected a whole number from 1 to"),
        (5, 0, 1, "--subscribers: found 0, expected a whole number from 1 to"),
        (5, 5, 0, "--each: found 0, expected a whole number from 1 to 5"),
        (5, 5, 6, "--each: found 6, expected a whole number from 1 to 5"),
        (2**31, 5, 1, "--topics: found 2,147,483,648, expected"),
    ],
)
def test_sizes_that_cannot_be_are_refused(
    topics: int, subscribers: int, each: int, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Uniform(topics, subscribers, each, RateRange(1, 1))


def test_a_total_past_64_bits_is_refused() -> None:
    with pytest.raises(InputError, match=r"--rates: found .* for 3 topics"):
        Uniform(3, 1, 1, RateRange(0, 2**62))
