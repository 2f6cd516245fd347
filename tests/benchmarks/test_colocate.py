"""The benchmark of co-location."""

import json

import numpy as np
import pytest
from benchmarks.reference import colocate_literal

from benchmarks import colocate


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colocate, "CONFIGURATIONS", 8)
    monkeypatch.setattr(colocate, "CORES", (1,))
    monkeypatch.setattr(colocate, "GROWTH", (6, 90))
    monkeypatch.setattr(colocate, "LITERAL", {"ffd": (8,), "hybrid": (8,), "lfs": (8,)})


@pytest.mark.long
def test_every_part_prints_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for part in colocate.PARTS.values():
        part(10)
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    literal = [line for line in lines if line["benchmark"] == "colocate literal"]
    assert [line["algorithm"] for line in literal] == ["ffd", "hybrid", "lfs"]
    assert all(line["ratio"] > 0 for line in literal)
    growth = [line for line in lines if line["benchmark"] == "colocate growth"]
    assert len(growth) == 2 * 4 and {line["topics"] for line in growth} == {6}
    assert all(line["bound"] <= line["brokers"] for line in growth)


def test_a_difference_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colocate_literal, "ffd", lambda *_: [])
    with pytest.raises(SystemExit, match="a defect"):
        colocate.literal(10)


def test_topics_meet_their_targets_alone_and_look_alike_or_not() -> None:
    for kinds in (False, True):
        problem = colocate.problem_of(300, 1, kinds=kinds)
        topics = problem.topics
        p90 = problem.predictor.p90_ms(
            topics.processing_ms[:, None], topics.rate_per_second[:, None]
        )
        assert (p90[:, 0] <= 225).all()
        pairs = {*zip(topics.processing_ms, topics.rate_per_second, strict=True)}
        assert (len(pairs) == 300) == kinds
        assert np.unique(topics.processing_ms).tolist() == list(colocate.PROCESSING)
