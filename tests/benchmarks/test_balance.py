"""The benchmark of balancing."""

import json

import numpy as np
import pytest
from benchmarks.reference import balance_literal

from benchmarks import balance


@pytest.mark.long
def test_every_part_prints_its_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(balance, "LITERAL", ((40, 3),))
    monkeypatch.setattr(balance, "GROWTH", ((200, 4), (10_000, 8)))
    for part in balance.PARTS.values():
        part(200)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    literal = [line for line in lines if line["benchmark"] == "balance literal"]
    assert [line["policy"] for line in literal] == ["ldm", "sdm"]
    growth = [line for line in lines if line["benchmark"] == "balance growth"]
    assert {line["sessions"] for line in growth} == {200} and len(growth) == 5
    budgeted, free = growth[-1], growth[0]
    assert budgeted["moves"] <= budgeted["budget"] == free["moves"]
    assert budgeted["cov_after"] <= free["cov_after"]


def test_a_difference_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(balance, "LITERAL", ((40, 3),))
    monkeypatch.setattr(balance_literal, "solved", lambda *_: [0])
    with pytest.raises(SystemExit, match="a defect"):
        balance.literal(40)


def test_sessions_want_distinct_topics_and_brokers_are_skewed() -> None:
    snapshot = balance.drawn(2_000, 10).snapshot
    lengths = np.diff(snapshot.wanted.offsets)
    assert lengths.min() > 5 and lengths.max() <= 30
    sessions = np.bincount(snapshot.places, minlength=10)
    assert sessions.max() > 2 * np.median(sessions)
