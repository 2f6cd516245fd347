"""The benchmark of simulated latencies."""

import json

import pytest

from benchmarks import latency


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "TOPICS", (1, 2))
    monkeypatch.setattr(latency, "MESSAGES", (10,))
    monkeypatch.setattr(latency, "GROWTH", 2)
    monkeypatch.setattr(latency, "LITERAL", 1)
    monkeypatch.setattr(latency, "REPEATS", 1)


def test_every_part_prints_its_lines(capsys: pytest.CaptureFixture[str]) -> None:
    for part in latency.PARTS.values():
        part()
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    literal = [line for line in lines if line["benchmark"] == "latency literal"]
    assert [line["topics"] for line in literal] == [1, 2]
    assert all(line["ratio_to_python"] > 0 for line in literal)
    growth = [line for line in lines if line["benchmark"] == "latency growth"]
    sizes = [(line["topics"], line["messages_of_a_publisher"]) for line in growth]
    assert sizes == [(1, 80), (2, 80), (2, 10)]


def test_a_difference_is_a_defect(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latency, "deliveries", lambda sent, *_: ([0.0] * len(sent), 0))
    with pytest.raises(SystemExit, match="a defect"):
        latency.literal()
