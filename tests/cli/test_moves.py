"""`brokerwise moves`, on real processes."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.crowd import crowd
from tests.cli.test_fleet import answer, detached, states
from tests.processes import wait_until
from tests.show.reading import Reader

from brokerwise.cli.main import run

Captured = pytest.CaptureFixture[str]
STATE = Path("out/fleet")


def text(words: str, capsys: Captured, code: int = 0) -> str:
    capsys.readouterr()
    assert run(words.split()) == code
    said = capsys.readouterr()
    return said.err if code else said.out


def sessions(capsys: Captured) -> dict[str, int]:
    return {b["broker"]: b["sessions"] for b in answer("moves", capsys)["brokers"]}


def test_a_skewed_fleet_is_balanced_resized_and_left_to_itself(
    in_tmp_path: Path, capsys: Captured
) -> None:
    with detached("--brokers 2", capsys):
        assert run(["drain", "b1"]) == 0
        with crowd(STATE, 6):
            assert run(["drain", "b1", "--undo"]) == 0
            _balance(capsys)
            _grow(capsys)
            _leave_alone(capsys)


def _balance(capsys: Captured) -> None:
    wait_until(lambda: (answer("moves", capsys)["max_load"] or 0) > 0, 10)
    assert sessions(capsys) == {"b0": 6, "b1": 0}
    shown = text("moves --dry-run", capsys)
    assert shown.splitlines()[-1].startswith("approve with: brokerwise moves --approve")
    digest = shown.split()[-1]
    assert len(digest) == 12
    done = text(f"moves --approve {digest} --report done.html", capsys)
    assert done.startswith("3 moves: 3 done, in ")
    assert done.splitlines()[-1] == "Report: done.html"
    assert "3 moves: 3 done; they were to bring max load from" in _report("done.html")
    text("moves --report now.html", capsys)
    assert "; 3 moves made so far." in _report("now.html")
    assert sessions(capsys) == {"b0": 3, "b1": 3}
    assert "nothing was done again" in text(f"moves --approve {digest}", capsys)
    assert "Nothing to improve" in text("moves --dry-run --alpha 0.5", capsys)
    assert "no proposal abcdef" in text("moves --approve abcdef", capsys, 2)


def _report(path: str) -> str:
    """What a report says, once it has been written again from itself."""
    page = Path(path).read_bytes()
    assert run(["report", path]) == 0
    assert Path(path).read_bytes() == page
    return Reader(page.decode()).text


def _grow(capsys: Captured) -> None:
    """Three users fill a broker to 91 %, two to 61 %: it takes three brokers."""
    wait_until(lambda: (answer("moves", capsys)["cov"] or 1) < 0.03, 20)
    capacity = round(1.1 * answer("moves", capsys)["max_load"])
    small = f"moves --dry-run --capacity {capacity}B/s --broker-hour 0.5"
    seen: list[dict[str, Any]] = []

    def two_proposals() -> bool:
        """Loads are measured, and differ a little each time."""
        found: dict[str, Any] = answer(small, capsys)
        if found["digest"] and (not seen or found["digest"] != seen[0]["digest"]):
            seen.append(found)
        return len(seen) == 2

    wait_until(two_proposals, 30)
    first, found = seen
    assert first["proposal"]["kind"] == "scale-out"
    assert first["proposal"]["added"] == ["b2"]
    over = answer(f"moves --approve {found['digest'][:8]}", capsys)
    assert (over["state"], over["begins"]) == ("done", True)
    assert states(answer("status", capsys))["b2"] == "up"
    assert sessions(capsys)["b2"] > 0
    refused = text(f"moves --approve {first['digest']}", capsys, 1)
    assert "is outdated" in refused
    assert "Make a new plan: brokerwise moves --dry-run" in refused


def _leave_alone(capsys: Captured) -> None:
    assert "Balancer: paused." in text("moves --pause", capsys)
    assert "balancer: paused" in text("status", capsys)
    assert "Balancer: manual" in text("moves --resume", capsys)
    told = answer("moves --automatic --every 1s --hot-only 50%", capsys)
    assert (told["mode"], told["options"]["hot"]) == ("automatic", 0.5)

    def thinks() -> bool:
        return "above the mean" in str(answer("moves", capsys)["balancer_status"])

    wait_until(thinks, 20)
    assert answer("moves --manual", capsys)["mode"] == "manual"
    listed = json.loads(json.dumps(answer("moves --list 50", capsys)))["decisions"]
    assert {"done", "noted"} <= {decision["state"] for decision in listed}
    assert all(decision["reason"] for decision in listed)
    assert "no broker is" in text("moves --list 50", capsys)
    told_of = [(d["automatic"], d["reason"].partition(":")[0]) for d in listed]
    assert told_of.count((False, "paused")) == told_of.count((False, "resumed")) == 1
    assert not {(True, "paused"), (True, "resumed")} & set(told_of)
