"""`brokerwise audit`, in-process."""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.auditing.forge import Forgery, forged
from tests.auditing.naive import filled, provisioned, saved

from brokerwise.cli.main import run
from brokerwise.model.workload import Workload

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture
def two_topics() -> Workload:
    """Three subscribers want a (rate 10), the first also b (rate 4)."""
    return Workload.from_pairs(
        topics=["a", "a", "a", "b"],
        subscribers=["u1", "u2", "u3", "u1"],
        rates={"a": 10, "b": 4},
    )


@pytest.fixture
def plan_folder(two_topics: Workload, tmp_path: Path) -> Path:
    """Broker 0 carries a for u1 and u2, broker 1 for u3 and b for u1."""
    plan = provisioned(two_topics, threshold=14, capacity=30)
    return saved(plan, two_topics, tmp_path)


def audited(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, str, str]:
    code = run(["audit", *arguments])
    return code, *capsys.readouterr()


def test_a_plan_that_is_right_takes_one_sentence(
    plan_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    digest = Forgery.of(plan_folder).header["digest"]
    code, out, err = audited(capsys, str(plan_folder))
    assert code == 0
    assert out == (
        "ok: 2 brokers, 4 pairs, 3 subscribers: every capacity, pair and threshold "
        f"recomputed; digest {digest[:12]}\n"
    )
    stages = [line.split()[0] for line in err.splitlines()]
    assert stages[-1] == "check"
    assert "digests" not in stages


def test_a_plan_to_fill_promises_no_threshold(
    two_topics: Workload, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = saved(filled(two_topics, brokers=1, capacity=30), two_topics, tmp_path)
    code, out, _ = audited(capsys, str(folder))
    assert code == 0
    assert out.startswith(
        "ok: 1 broker, 2 pairs, 3 subscribers: every capacity and pair recomputed; "
    )


def test_violations_are_grouped_under_one_sentence(
    plan_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def move(plan: Forgery) -> None:
        plan.row(2)["brokers"] = [0]

    forged(plan_folder, move, mend_digests=True)
    code, out, err = audited(capsys, str(plan_folder))
    assert code == 1
    stages = [line.split()[0] for line in err.splitlines()]
    assert stages[-4:] == ["check", "digests", "brokers", "pairs"]
    assert out.splitlines() == [
        f"7 violations in {plan_folder}",
        "  totals       load: stated 58, found 48",
        "               incoming: stated 24, found 14",
        "  capacity     broker 0 carries 40, its capacity is 30",
        "  load         broker 0: load stated 30, found 40; pairs stated 2, found 3",
        "               broker 1: load stated 28, found 8; topics stated 2, found 1; "
        "pairs stated 2, found 1",
        '  assignment   topic "a" on broker 0: 2 pairs stated, 3 found',
        '               topic "a" on broker 1: 1 pair stated, 0 found',
    ]


def test_only_the_first_few_of_many_are_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"u{n:02d}" for n in range(12)]
    crowd = Workload.from_pairs(topics=["a"] * 12, subscribers=names, rates={"a": 7})
    folder = saved(provisioned(crowd, threshold=0, capacity=99), crowd, tmp_path)

    def promise(plan: Forgery) -> None:
        plan.header["threshold"] = 1

    forged(folder, promise, mend_digests=True)
    code, out, _ = audited(capsys, str(folder))
    assert code == 1
    lines = out.splitlines()
    assert lines[0] == f"12 violations in {folder}"
    assert lines[1] == '  threshold    subscriber "u00" receives 0, its threshold is 1'
    assert lines[6:] == ["               and 7 more"]


def test_json_is_one_object_with_totals_and_messages(
    plan_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = audited(capsys, str(plan_folder), "--json")
    result = json.loads(out)
    assert code == 0
    assert (result["status"], result["violations"], result["checks"]) == ("ok", 0, {})
    assert (result["brokers"], result["load"], result["pairs"]) == (2, 58, 4)
    assert result["seconds"].keys() == {"session", "check", "total"}

    def lie(plan: Forgery) -> None:
        plan.header["figures"]["load"] = 1

    forged(plan_folder, lie, mend_digests=True)
    code, out, _ = audited(capsys, str(plan_folder), "--json")
    result = json.loads(out)
    assert code == 1
    assert result["status"] == "violated"
    assert result["checks"] == {
        "totals": {"total": 1, "messages": ["load: stated 1, found 58"]}
    }


def test_a_workload_that_moved_is_given_by_option(
    plan_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = plan_folder.parent / "elsewhere"
    shutil.move(plan_folder.parent / "workload", moved)
    code, _, err = audited(capsys, str(plan_folder))
    assert code == 2
    assert "workload is not a workload directory" in err
    code, out, _ = audited(capsys, str(plan_folder), "--workload", str(moved))
    assert code == 0
    assert out.startswith("ok: ")


def test_another_workload_is_refused(
    plan_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = Workload.from_pairs(topics=["a"], subscribers=["u"], rates={"a": 1})
    saved(provisioned(other, threshold=1, capacity=2), other, tmp_path / "other")
    place = str(tmp_path / "other" / "workload")
    code, out, err = audited(capsys, str(plan_folder), "--workload", place)
    assert (code, out) == (2, "")
    assert err.startswith(f"error: workload {place} has digest ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere is not a plan directory: it has no plan.json"),
        ([], "Missing argument 'PLAN'"),
        (["nowhere", "--conf", "x"], "--conf: found 'x', expected KEY=VALUE"),
    ],
)
def test_bad_usage_exits_2(
    arguments: Sequence[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, out, err = audited(capsys, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert "session" not in err


def test_a_relative_path_will_do(
    plan_folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(plan_folder.parent)
    code, out, _ = audited(capsys, "plan", "--workload", "workload")
    assert code == 0
    assert out.startswith("ok: ")
