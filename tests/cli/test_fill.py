"""`brokerwise fill`, in-process."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.saving import saved
from tests.show.reading import Reader

import brokerwise
from brokerwise.cli.fill_request import parse_brokers
from brokerwise.cli.main import run
from brokerwise.model.errors import InputError
from brokerwise.model.workload import Workload
from brokerwise.pipeline import fill as job

DAY = 86_400


pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture
def loud(in_tmp_path: Path) -> str:
    """Five topics that need 80 and more each, and one that needs 4."""
    rates = {"b": 60, "a\x1b[2J": 60, "c": 50, "d": 45, "e": 40, "quiet": 2}
    return saved(
        Workload.from_pairs(
            topics=list(rates), subscribers=["u"] * len(rates), rates=rates
        )
    )


@pytest.fixture
def uniform(in_tmp_path: Path) -> str:
    return saved(
        brokerwise.uniform(topics=100, subscribers=100, each=5, rates=10, seed=3)
    )


def asked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a call."""
    code = run(["fill", *arguments, "--json"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, result


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str], str]:
    """Exit code, lines of the answer, and what went to stderr."""
    code = run(["fill", *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def without_seconds(lines: list[str]) -> list[str]:
    """The line of the algorithm up to the first comma."""
    return [
        line.split(",")[0] if line.startswith("  algorithm") else line for line in lines
    ]


def test_a_sentence_then_the_numbers_then_what_limits_it(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    how = ("--algorithm", "greedy", "--bound", "paper")
    call = (two_topics, "--brokers", "1x30", *how)
    code, lines, err = printed(capsys, *call)
    assert code == 0
    assert without_seconds(lines) == [
        "1 broker delivers 58.82 % of the data (20 of 34). "
        "Proven best possible: 88.24 %.",
        "  algorithm greedy",
        "  bound: the paper's 30 (gap 50 %)",
        "  binding: bandwidth on the broker; "
        "1 more of this size would carry everything",
        "Plan: out/fill",
    ]
    stages = [line.split()[0] for line in err.splitlines()]
    assert stages == ["read", "solve", "write", "audit"]
    assert brokerwise.audit("out/fill") == []
    more = (two_topics, "--brokers", "2x30", "--algorithm", "mkp", "--force")
    _, lines, _ = printed(capsys, *more)
    assert without_seconds(lines) == [
        "2 brokers deliver all of the data (34).",
        "  algorithm mkp",
        "  bounds: certified 34 (gap 0 %), the paper's 34 (gap 0 %)",
        "  not binding: 2 of 60 (3.33 %) of the bandwidth is free",
        "Plan: out/fill",
    ]


def test_json_has_what_scripts_rely_on(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--brokers", "1x30", "--algorithm", "greedy", "--out", "p")
    code, result = asked(capsys, *call)
    assert code == 0
    expected = {
        "kind": "fill",
        "objective": 20,
        "algorithm": "greedy",
        "brokers": 1,
        "load": 30,
        "delivered": 20,
        "wanted": 34,
        "incoming": 10,
        "outgoing": 20,
        "pairs": 2,
        "left_out": 0,
        "weighted_wanted": None,
        "fleet": 1,
        "bandwidth": 30,
        "full": 1,
        "left_over": 2,
        "more": 1,
        "warnings": [],
        "out": "p",
        "workload": two_topics,
        "seed": 0,
    }
    assert {key: result[key] for key in expected} == expected
    assert result["delivered_percent"] == pytest.approx(100 * 20 / 34)
    assert result["bound"] >= result["objective"]
    assert result["gap"] == pytest.approx((result["bound"] - 20) / 20)
    assert (result["status"] == "optimal") == (result["gap"] == 0)
    assert result["types"] == [
        {"type": "broker-30", "capacity": 30, "count": 1, "brokers": 1}
    ]
    seconds = result["seconds"]
    assert set(seconds) == {"read", "solve", "write", "audit", "total"}
    assert seconds["total"] >= max(seconds.values())
    header = json.loads(Path("p/plan.json").read_text())
    assert result["digest"] == header["digest"]
    assert result["workload_digest"] == header["workload"]["digest"]


@pytest.mark.parametrize("algorithm", ["greedy", "mkp"])
def test_so_many_more_brokers_do_carry_everything(
    uniform: str, capsys: pytest.CaptureFixture[str], algorithm: str
) -> None:
    call = (uniform, "--algorithm", algorithm, "--force")
    _, result = asked(capsys, *call, "--brokers", "10x500")
    assert 80 < result["delivered_percent"] < 90
    assert result["full"] == result["fleet"] == 10
    enough = 10 + result["more"]
    _, result = asked(capsys, *call, "--brokers", f"{enough}x500")
    assert result["delivered"] == result["wanted"]
    assert result["more"] is None
    assert brokerwise.audit("out/fill") == []


def test_columns_is_the_default_and_says_what_the_others_would_give(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--brokers", "5x500")
    code, result = asked(capsys, *call)
    assert (code, result["algorithm"]) == (0, "columns")
    assert max(result["greedy"], result["mkp"]) <= result["objective"]
    assert result["objective"] <= result["bound"] <= result["bound_paper"]
    assert "stopped" not in result["options"]
    _, lines, _ = printed(capsys, *call, "--force")
    assert f", {result['patterns']:,} pattern" in lines[1]
    assert f" greedy would give {result['greedy'] / 50:.2f} %, mkp " in lines[1]
    for algorithm in ("greedy", "mkp"):
        how = ("--algorithm", algorithm, "--force")
        assert asked(capsys, *call, *how)[1]["objective"] == result[algorithm]


def test_a_search_that_time_has_stopped_says_so(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--brokers", "5x500", "--seconds")
    code, result = asked(capsys, *call, "0.000001")
    assert (code, result["options"]["stopped"]) == (0, "time")
    assert result["objective"] <= result["bound"]
    assert brokerwise.audit("out/fill") == []
    _, lines, _ = printed(capsys, *call, "0.000001", "--force")
    said = "  the search was stopped by --seconds: another run may end elsewhere"
    assert said in lines


def test_the_command_repeats_it(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--brokers", "4x500,3x200", "--algorithm", "mkp", "--seed", "7")
    _, result = asked(capsys, *call, "--out", "p q")
    words = shlex.split(result["command"])
    assert words[:2] == ["brokerwise", "fill"]
    code, again = asked(capsys, *words[2:], "--force")
    assert code == 0
    assert again["digest"] == result["digest"]


def test_sizes_take_units_and_equal_ones_are_one_type(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fleet = parse_brokers("10x64Mbit/s, 4 X 200,1x200", DAY, 1000)
    size = 64 * 10**6 // 8 * DAY // 1000
    assert [(kind.name, kind.capacity, kind.count) for kind in fleet] == [
        (f"broker-{size}", size, 10),
        ("broker-200", 200, 5),
    ]
    call = (two_topics, "--brokers", "1x30,2x8,1x30", "--algorithm", "mkp")
    _, result = asked(capsys, *call)
    assert [(kind["capacity"], kind["count"]) for kind in result["types"]] == [
        (30, 2),
        (8, 2),
    ]
    assert result["delivered"] == 34
    _, lines, _ = printed(capsys, *call, "--force")
    used = result["brokers"]
    assert lines[0] == f"{used} of 4 brokers deliver all of the data (34)."


def test_one_of_several_sizes_has_no_number_of_more(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--brokers", "4x500,3x200,2x3", "--algorithm", "greedy")
    _, result = asked(capsys, *call)
    assert result["more"] is None
    assert result["full"] == result["fleet"] == 9  # also those that fit nothing
    assert result["brokers"] == 7
    _, lines, _ = printed(capsys, *call, "--force")
    assert "  binding: bandwidth on all 9 brokers" in lines


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([], "found neither of --brokers and --total-bandwidth"),
        (["--brokers", "", "--total-bandwidth", "9"], "found both of --brokers and"),
        (["--brokers", ""], "--brokers: found none, expected COUNTxSIZE"),
        (["--brokers", "1x9", "--max-broker", "5"], "--max-broker goes with --total"),
        (["--max-broker", "5"], "found neither"),
        (["--total-bandwidth", "50"], "--total-bandwidth needs --max-broker"),
        (
            ["--total-bandwidth", "0", "--max-broker", "5"],
            "--total-bandwidth: found 0, expected a whole number from 1",
        ),
        (
            ["--total-bandwidth", "50", "--max-broker", "-5"],
            "--max-broker: found '-5', expected a whole number of messages",
        ),
        (["--brokers", "0x500"], "count of --brokers 0x500: found 0, expected"),
        (["--brokers", "-3x500"], "count of --brokers -3x500: found -3, expected"),
        (["--brokers", "10x0"], "size of --brokers 10x0: found 0, expected"),
        (["--brokers", "10x-5"], "size of --brokers 10x-5: found '-5', expected"),
        (["--brokers", "10x5.5"], "size of --brokers 10x5.5: found '5.5', expected"),
        (["--brokers", "10x5,"], "--brokers: found '', expected COUNTxSIZE"),
        (["--brokers", "10x5,000"], "--brokers: found '000', expected COUNTxSIZE"),
        (["--brokers", "ten"], "--brokers: found 'ten', expected COUNTxSIZE"),
        (["--brokers", "9" * 9 + "x5"], "found 999,999,999 brokers, expected at most"),
        (["--brokers", "2x9" + "0" * 18], "of bandwidth in all, expected at most"),
        (["--brokers", "1x9", "--algorithm", "best"], "algorithm: found 'best'"),
        (["--brokers", "1x9", "--bound", "best"], "bound: found 'best', expected"),
        (["--brokers", "1x9", "--seconds", "0"], "seconds: found 0, expected more"),
        (["--brokers", "1x9", "--seconds", "-2"], "seconds: found -2, expected more"),
        (["--brokers", "1x9", "--seconds", "nan"], "seconds: found nan, expected"),
        (["--brokers", "1x9", "--out", "w/p"], "--out w/p is in the workload"),
        (["--brokers", "1x9", "--report", "w/r"], "--report w/r is in the workload"),
        (["--brokers", "1x9", "--report", "t.csv"], "a file that is no report"),
        (
            ["--brokers", "1x9", "--out", "r", "--report", "r"],
            "--report r: the plan goes there",
        ),
        (["--brokers", "1x9", "--topic-weights", "none.csv"], "none.csv cannot be"),
        (["--brokers", "1x9", "--topic-weights", "t.csv"], "t.csv, line 2: found"),
        (
            ["--brokers", "1x9", "--subscriber-weights", "s.csv"],
            "s.csv, line 1: found subscriber 'a'",
        ),
    ],
)
def test_what_cannot_be_used_is_named_and_nothing_is_written(
    two_topics: str,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    text: str,
) -> None:
    Path("t.csv").write_text("a,3\nb,1.5\n")
    Path("s.csv").write_text("a,3\n")
    before = sorted(map(str, Path().rglob("*")))
    given = ["--algorithm", "greedy"] * ("--algorithm" not in arguments)
    assert run(["fill", two_topics, *given, *arguments]) == 2
    shown = capsys.readouterr()
    assert sum(line.startswith("error: ") for line in shown.err.splitlines()) == 1
    assert text in shown.err
    assert shown.out == ""
    # A folder for plans may have been made, but nothing is in it.
    after = sorted(map(str, Path().rglob("*")))
    assert [path for path in after if path != "out"] == before


def test_a_workload_that_is_none_is_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["fill", "nowhere", "--brokers", "1x9"]) == 2
    assert "nowhere is not a workload" in capsys.readouterr().err


def test_topics_that_fit_nowhere_are_named_in_a_warning(
    loud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (loud, "--brokers", "2x60", "--algorithm", "greedy", "--report", "r.html")
    code, lines, err = printed(capsys, *call)
    assert code == 0
    told = (
        "5 topics fit on no broker, the largest has 60: "
        '"a\x1b[2J" (rate 60) needs 120, "b" (rate 60) needs 120, '
        '"c" (rate 50) needs 100, and 2 more'
    )
    shown = told.replace("\x1b", "\\x1b")  # it cannot clear the screen
    assert f"warning: {shown}" in err.splitlines()
    binding = (
        "  binding: the size of the brokers: everything that fits on one is served"
    )
    assert binding in lines
    assert told in Reader(Path("r.html").read_text(encoding="utf-8")).text
    code, result = asked(capsys, *call, "--force")
    assert result["warnings"] == [told]
    assert (result["left_out"], result["delivered"], result["more"]) == (5, 2, None)


def test_a_topic_may_be_too_large_for_any_part_of_a_bandwidth(
    loud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (loud, "--total-bandwidth", "260", "--max-broker", "119")
    _, lines, err = printed(capsys, *call, "--algorithm", "greedy")
    assert (
        "warning: 2 topics fit on no broker, the largest has 119: "
        '"a\\x1b[2J" (rate 60) needs 120, "b" (rate 60) needs 120\n'
    ) in err
    assert lines[-2].startswith("  binding: the total bandwidth, of which ")


def test_a_fleet_that_can_carry_nothing_has_an_answer(
    loud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (loud, "--brokers", "7x3", "--algorithm", "mkp")
    code, result = asked(capsys, *call)
    assert code == 0
    assert (result["objective"], result["bound"], result["gap"]) == (0, 0, 0)
    assert (result["bound_paper"], result["gap_paper"]) == (21, None)
    assert (result["brokers"], result["left_out"]) == (0, 6)
    _, lines, _ = printed(capsys, *call, "--force")
    assert lines[0] == (
        "7 brokers deliver 0.00 % of the data (0 of 257). Proven optimal."
    )


def test_what_fits_would_be_carried_by_more(
    loud: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (loud, "--brokers", "1x100", "--algorithm", "greedy")
    _, lines, _ = printed(capsys, *call)
    assert lines[-2] == (
        "  binding: bandwidth on the broker; 2 more of this size would carry "
        "everything that fits"
    )


def test_bandwidth_is_split_and_the_split_is_said(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--total-bandwidth", "2320", "--max-broker", "500")
    code, lines, _ = printed(capsys, *call, "--algorithm", "mkp")
    assert code == 0
    _, result = asked(capsys, *call, "--algorithm", "mkp", "--force")
    counts = {kind["capacity"]: kind["count"] for kind in result["types"]}
    assert sum(size * count for size, count in counts.items()) <= 2320
    assert max(counts) <= 500
    told = " + ".join(f"{count} x {size}" for size, count in counts.items())
    assert f"  split: {told}, of 2,320 in all" in lines
    free = 2320 - result["load"]
    assert f"  binding: the total bandwidth, of which {free} is free" in lines
    assert result["options"]["total_bandwidth"] == 2320
    assert brokerwise.audit("out/fill") == []


def test_weights_come_first(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.csv").write_text("topic,weight\nb,9\n")
    Path("s.csv").write_text("u1,2\nu3,5\n")
    files = ("--topic-weights", "t.csv", "--subscriber-weights", "s.csv")
    call = (two_topics, "--brokers", "1x20", "--algorithm", "mkp", *files)
    code, lines, _ = printed(capsys, *call)
    assert code == 0
    # Of 20 + 10 + 50 for a and 72 for b there is room for 72, or for 50.
    assert lines[0].startswith(
        "1 broker delivers 47.36 % of the weighted value (72 of 152) and "
        "11.76 % of the data (4 of 34). Proven "
    )
    _, result = asked(capsys, *call, "--force")
    assert (result["objective"], result["delivered"]) == (72, 4)
    assert result["weighted_wanted"] == 152
    assert result["command"].count("-weights") == 2
    assert brokerwise.audit("out/fill") == []


def test_weights_of_nothing_deliver_nothing(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("t.csv").write_text("a,0\nb,0\n")
    call = (two_topics, "--brokers", "1x20", "--algorithm", "mkp")
    code, lines, _ = printed(capsys, *call, "--topic-weights", "t.csv")
    assert code == 0
    assert lines[0] == ("1 broker delivers nothing: all that is wanted counts nothing.")


def test_an_empty_workload_is_optimal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    saved(Workload.from_pairs(topics=[], subscribers=[], rates={"a": 3}))
    call = ("w", "--brokers", "2x20", "--algorithm", "greedy", "--report", "r.html")
    code, result = asked(capsys, *call)
    assert code == 0
    expected = {"status": "optimal", "brokers": 0, "delivered_percent": 100.0}
    assert {key: result[key] for key in expected} == expected
    assert (result["objective"], result["gap"]) == (0, 0)
    _, lines, _ = printed(capsys, *call, "--force")
    assert lines[0] == "Nothing is wanted: there is nothing to deliver."
    assert "Nothing is wanted" in Path("r.html").read_text(encoding="utf-8")


def test_the_report_is_made_from_the_json(
    uniform: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (uniform, "--brokers", "10x500", "--algorithm", "mkp", "--report", "r.html")
    _, lines, _ = printed(capsys, *call)
    assert lines[-1] == "Report: r.html"
    _, result = asked(capsys, *call, "--force")
    reader = Reader(Path("r.html").read_text(encoding="utf-8"))
    assert reader.data("result") == result
    assert sum(result["details"]["loads"]["load"]) == result["load"]
    assert lines[0] in reader.text


def test_what_exists_is_replaced_only_with_force(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--brokers", "1x30", "--algorithm", "mkp")
    assert printed(capsys, *call)[0] == 0
    code, _, err = printed(capsys, *call)
    assert code == 2
    assert "out/fill exists already; nothing was written" in err
    assert printed(capsys, *call, "--force")[0] == 0


def test_ctrl_c_leaves_nothing_behind(
    two_topics: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(job, "solve", interrupt)
    code, lines, err = printed(capsys, two_topics, "--brokers", "1x30")
    assert (code, lines) == (130, [])
    assert err.endswith("interrupted; nothing was written\n")
    assert list(Path("out").iterdir()) == []


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["fill", "--help"]) == 0
    assert "brokerwise fill out/workload --brokers" in capsys.readouterr().out


def test_brokers_are_parsed_or_refused_but_never_misread() -> None:
    rng = np.random.default_rng(5)
    for _ in range(200):
        text = "".join(rng.choice(list("0123456789xX,-+. "), 6))
        try:
            fleet = parse_brokers(text, DAY, 200)
        except InputError:
            continue
        parts = [part.strip().lower().split("x") for part in text.split(",")]
        total = sum(int(count) * int(size) for count, size in parts)
        assert total == sum(kind.capacity * (kind.count or 0) for kind in fleet)
