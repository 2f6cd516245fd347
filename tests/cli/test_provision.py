"""`brokerwise provision`, in-process."""

import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cli.saving import saved
from tests.show.reading import Reader

import brokerwise
from brokerwise.cli import provision as command
from brokerwise.cli.main import run
from brokerwise.model.workload import Workload

TIMES = "\N{MULTIPLICATION SIGN}"


pytestmark = pytest.mark.usefixtures("in_tmp_path")


@pytest.fixture
def three_apart(in_tmp_path: Path) -> str:
    """Three topics of which no two fit on a broker of 15, though 30 is their load."""
    return saved(
        Workload.from_pairs(
            topics=["a", "b", "c"],
            subscribers=["u", "v", "w"],
            rates={"a": 5, "b": 5, "c": 5},
        )
    )


@pytest.fixture
def mixture(in_tmp_path: Path) -> str:
    return saved(mixed_workload())


def mixed_workload() -> Workload:
    """Sixty subscribers of forty topics, some much louder than others."""
    rng = np.random.default_rng(3)
    owner = np.repeat(np.arange(60), 6)
    topic = rng.integers(0, 40, len(owner))
    rates = (rng.pareto(1.0, 40) * 9 + 1).astype(int).clip(max=150).tolist()
    return Workload.from_pairs(
        topics=[f"t{t}" for t in topic.tolist()],
        subscribers=[f"u{s}" for s in owner.tolist()],
        rates={f"t{t}": rate for t, rate in enumerate(rates)},
    )


def asked(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON of a call."""
    code = run(["provision", *arguments, "--json"])
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return code, result


def printed(
    capsys: pytest.CaptureFixture[str], *arguments: str
) -> tuple[int, list[str], str]:
    """Exit code, lines of the answer, and what went to stderr."""
    code = run(["provision", *arguments])
    shown = capsys.readouterr()
    return code, shown.out.splitlines(), shown.err


def test_a_sentence_then_the_numbers(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "14", "--capacity", "30")
    code, lines, err = printed(capsys, *call)
    assert code == 0
    assert lines[:-2] == [
        "2 brokers of capacity 30 carry 4 pairs for $72.00 a period of 10 days "
        "($219.00 a month), which is the best possible.",
        f"  cost     brokers $72.00 + bandwidth $1.39 {TIMES} 10⁻⁶",
        "  load     58 = 24 incoming + 34 outgoing; at least 58",
        "  bounds   certified $72.00 (gap 0 %), the paper's $72.00 (gap < 0.001 %)",
        "  prices   $0.15 an hour, $0.12 a gigabyte (as the paper has for c3.large, "
        "where none were given)",
        "  2 subscribers want less than 14; everything is served",
    ]
    assert lines[-2].startswith("  shared+tight, ")
    assert lines[-1] == "Plan: out/plan"
    stages = [line.split()[0] for line in err.splitlines()]
    assert stages == ["read", "select", "bound", "pack", "place", "audit"]
    assert brokerwise.audit("out/plan") == []


def test_prices_that_are_given_are_not_assumed(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = ("--broker-hour", "1", "--gigabyte", "2e9", "--gigabyte-in", "1e9")
    call = (two_topics, "--threshold", "14", "--capacity", "30", *prices)
    _, lines, _ = printed(capsys, *call)
    assert "  prices   $1.00 an hour, $2,000,000,000 a gigabyte out and " in lines[4]
    assert "paper" not in lines[4]
    code, result = asked(capsys, *call, "--force")
    assert code == 0
    assert result["cost_brokers"] == 2 * 240
    assert result["cost_bandwidth"] == pytest.approx(200 * (24 + 2 * 34))
    assert result["cost"] == result["objective"]


def test_json_has_what_scripts_rely_on(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "14", "--capacity", "30", "--out", "p")
    code, result = asked(capsys, *call)
    assert code == 0
    expected = {
        "status": "optimal",
        "gap": 0,
        "algorithm": "shared+tight",
        "brokers": 2,
        "load": 58,
        "incoming": 24,
        "outgoing": 34,
        "pairs": 4,
        "load_bound": 58,
        "threshold": 14,
        "cost_brokers": 72.0,
        "out": "p",
        "workload": two_topics,
    }
    assert {key: result[key] for key in expected} == expected
    assert result["objective"] == result["cost"] == result["bound"]
    assert result["cost_month"] == pytest.approx(result["cost"] * 730 / 240)
    assert result["gap_paper"] == pytest.approx(
        (result["cost"] - result["bound_paper"]) / result["cost"]
    )
    [kind] = result["types"]
    assert (kind["type"], kind["brokers"], kind["capacity"]) == ("broker-30", 2, 30)
    header = json.loads(Path("p/plan.json").read_text())
    assert result["digest"] == header["digest"]
    seconds = result["seconds"]
    assert seconds["session"] == 0
    assert seconds["total"] >= sum(seconds[s] for s in ("select", "pack", "audit")) > 0


@pytest.mark.parametrize(
    ("budget", "code", "answer", "sentence"),
    [
        ("109", 0, "yes", "yes: $108.00 is within the budget of $109.00"),
        (
            "70",
            1,
            "no",
            "no: every plan costs at least $72.00, which is above the budget of $70.00",
        ),
        (
            "80",
            1,
            "unknown",
            "unknown: this plan costs $108.00, every plan at least $72.00, "
            "and the budget of $80.00 is between them",
        ),
    ],
)
def test_a_budget_is_answered_yes_no_or_unknown(
    three_apart: str,
    capsys: pytest.CaptureFixture[str],
    budget: str,
    code: int,
    answer: str,
    sentence: str,
) -> None:
    call = (three_apart, "--threshold", "5", "--capacity", "15", "--budget", budget)
    found, lines, _ = printed(capsys, *call)
    assert (found, lines[0], lines[-1]) == (code, sentence, "Plan: out/plan")
    assert lines[1].startswith("3 brokers of capacity 15 carry 3 pairs for $108.00")
    found, result = asked(capsys, *call, "--force")
    assert (found, result["affordable"]) == (code, answer)
    assert result["budget"] == float(budget)
    assert brokerwise.audit("out/plan") == []


def test_an_infeasible_problem_is_an_answer_and_writes_nothing(
    two_topics: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "14", "--capacity", "19", "--report", "r.html")
    code, lines, _ = printed(capsys, *call)
    assert code == 1
    assert lines == [
        'infeasible: subscriber "u1" needs topic "a" (rate 10), which no broker can '
        "carry: it needs 20, the largest broker has 19, and so it is for 2 more",
        "The smallest capacity that works is 20.",
    ]
    code, result = asked(capsys, *call)
    assert code == 1
    assert result["status"] == "infeasible"
    assert result["reason"].startswith('subscriber "u1"')
    for key in ("objective", "bound", "gap", "cost", "brokers", "load", "out"):
        assert result[key] is None
    assert not Path("out/plan").exists()
    assert not Path("r.html").exists()
    code, lines, _ = printed(
        capsys, two_topics, "--threshold", "14", "--capacity", "20"
    )
    assert code == 0


def test_what_was_not_found_is_unknown_and_writes_nothing(
    three_apart: str, in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("two.csv").write_text("type,hour_usd,capacity,count\nb,1,15,2\nc,1,40,\n")
    call = (three_apart, "--threshold", "5", "--catalog", "two.csv")
    one = (*call, "--broker", "b", "--budget", "1000", "--report", "r.html")
    code, lines, _ = printed(capsys, *one)
    assert code == 1
    assert lines[0].startswith(
        "unknown: no plan was found, which does not prove that there is none: "
    )
    assert lines[1].startswith("Tried: selection shared, exact, greedy and random; ")
    assert lines[2:] == ["It works with 3 b."]
    code, result = asked(capsys, *one)
    assert (code, result["status"], result["affordable"]) == (1, "unknown", "unknown")
    found = ("load_bound", "brokers_bound", "brokers_found", "moves_found")
    assert [result[key] for key in found] == [30, 2, 3, None]
    assert (result["tried"][0], len(result["tried"])) == ("shared+tight", 20)
    assert result["reason"].startswith("no plan was found")
    for key in ("objective", "bound", "gap", "cost", "brokers", "load", "out"):
        assert result[key] is None
    assert not Path("out/plan").exists() and not Path("r.html").exists()
    both = (*call, "--broker", "b", "--broker", "c", "--out", "many")
    code, lines, _ = printed(capsys, *both, "--report", "r.html")
    assert code == 1
    assert lines[0].startswith("2 plans; 1 of them unknown: from $")
    assert lines[2].split() == ["b", "5", "unknown"]
    assert any(line.startswith("  threshold 5, b: unknown: no plan") for line in lines)
    assert "no plan was found" in Reader(Path("r.html").read_text("utf-8")).text


def test_a_plan_that_another_way_found_says_so(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of a topic of 41 a broker of 120 serves one subscriber, of topics of 30 two."""
    workload = Workload.from_pairs(
        topics=["all"] * 40 + [f"t{v}" for v in range(40)],
        subscribers=[f"v{v}" for v in range(40)] * 2,
        rates={"all": 41} | {f"t{v}": 30 for v in range(40)},
    )
    Path("own.csv").write_text("type,hour_usd,capacity,count\nb,0,120,20\n")
    call = (saved(workload), "--threshold", "30", "--catalog", "own.csv")
    way = ("--broker", "b", "--selection", "shared", "--packing", "tight")
    code, lines, _ = printed(capsys, *call, *way)
    assert code == 0
    assert lines[0].startswith("20 brokers b carry 40 pairs")
    assert (
        "  shared+tight found no plan within the limits of the fleet; exact+tight did"
    ) in lines


def test_a_name_cannot_move_the_cursor(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    hostile = Workload.from_pairs(
        topics=["\x1b[2J"], subscribers=["u"], rates={"\x1b[2J": 10}
    )
    call = (saved(hostile), "--threshold", "5", "--capacity", "9")
    code, lines, _ = printed(capsys, *call)
    assert code == 1
    assert "\x1b" not in lines[0]
    assert '"\\x1b[2J"' in lines[0]


def test_topics_that_nobody_needs_may_be_too_large(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    firehose = Workload.from_pairs(
        topics=["big", "small", "small"],
        subscribers=["u", "u", "v"],
        rates={"big": 100, "small": 5},
    )
    call = (saved(firehose), "--threshold", "5", "--capacity", "50")
    code, lines, _ = printed(capsys, *call)
    assert code == 0
    assert "  1 topic is too large for every broker and left out: nobody needs it" in (
        lines
    )
    assert asked(capsys, *call, "--force")[1]["left_out"] == 1


def test_a_threshold_above_all_totals_serves_everything(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "1000000", "--capacity", "30")
    code, lines, _ = printed(capsys, *call)
    assert code == 0
    assert "  all 3 subscribers want less than 1,000,000: everything is served" in lines


def test_an_empty_workload_needs_no_broker(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    empty = saved(Workload.from_pairs(topics=[], subscribers=[], rates={"a": 3}))
    call = (empty, "--threshold", "5", "--broker", "c3.large", "--report", "r.html")
    code, result = asked(capsys, *call)
    assert code == 0
    assert (result["status"], result["brokers"], result["cost"]) == ("optimal", 0, 0)
    code, lines, _ = printed(capsys, *call, "--force")
    assert (code, lines[0]) == (
        0,
        "Nothing has to be carried: no broker is needed, which costs nothing.",
    )
    assert lines[-1] == "Report: r.html"


def test_thresholds_and_rows_are_compared(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text("type,hour_usd,capacity\nsmall,5,400\nlárge,9,900\n")
    rows = ("--broker", "small", "--broker", "small,lárge", "--catalog", "own.csv")
    call = (mixture, "--threshold", "10,40", *rows, "--out", "many")
    code, result = asked(capsys, *call)
    assert code == 0
    plans = result["plans"]
    assert [(p["threshold"], p["out"]) for p in plans] == [
        (10, "many/10-small"),
        (10, "many/10-small+l-rge"),
        (40, "many/40-small"),
        (40, "many/40-small+l-rge"),
    ]
    for plan in plans:
        assert brokerwise.audit(plan["out"]) == []
        assert plan["bound_paper"] <= plan["bound"] <= plan["cost"]
        assert plan["seconds"]["total"] == result["seconds"]["total"]
        assert sum(kind["brokers"] for kind in plan["types"]) == plan["brokers"]
    code, lines, _ = printed(capsys, *call, "--force")
    assert code == 0
    assert lines[0].startswith("4 plans: from $")
    assert lines[1].split()[:4] == ["type", "threshold", "brokers", "cost"]
    found = [line.split("  ")[1:3] for line in lines[2:4]]
    assert [name for name, _ in found] == ["small", "small + lárge"]
    assert f"{plans[3]['load']:,}" == lines[5].split()[-1]
    assert lines[-1] == "Plans: many/"


def test_each_of_several_plans_is_what_it_would_be_alone(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text("type,hour_usd,capacity\na,5,310\nb,9,900\nc,1,99\n")
    call = ("--threshold", "10", "--catalog", "own.csv", "--rounds", "4")
    rows = [word for name in "abc" for word in ("--broker", name)]
    _, together = asked(capsys, mixture, *call, *rows, "--out", "many")
    for plan, name in zip(together["plans"], "abc", strict=True):
        _, alone = asked(capsys, mixture, *call, "--broker", name, "--out", name)
        for key in ("status", "digest", "cost", "bound", "load_bound"):
            assert plan[key] == alone[key]


def test_of_several_plans_an_infeasible_one_is_named(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("own.csv").write_text("type,hour_usd,capacity\ntiny,0.01,2\nok,1,90000\n")
    rows = ("--broker", "tiny", "--broker", "ok", "--catalog", "own.csv")
    call = (mixture, "--threshold", "10", *rows)
    code, result = asked(capsys, *call, "--out", "many", "--report", "r.html")
    assert code == 1
    assert [plan["status"] == "infeasible" for plan in result["plans"]] == [True, False]
    written = ["10-ok", "result.json"]
    assert sorted(path.name for path in Path("many").iterdir()) == written
    assert "infeasible" in Reader(Path("r.html").read_text("utf-8")).text
    code, lines, _ = printed(capsys, *call, "--out", "again")
    assert any(
        line.startswith("  threshold 10, tiny: infeasible: subscriber")
        for line in lines
    )
    only = ("--broker", "tiny", "--catalog", "own.csv", "--out", "none")
    code, _, _ = printed(capsys, mixture, "--threshold", "10,20", *only)
    assert code == 1
    assert not Path("none").exists()


def test_room_that_stays_free_makes_brokers_smaller(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "14", "--capacity", "100")
    free = ("--headroom", "40%", "--peak-to-mean", "2")
    code, result = asked(capsys, *call, *free)
    assert code == 0
    assert result["types"][0]["capacity"] == 30
    assert result["brokers"] == 2


WRONG = {
    "no brokers": ([], "found neither of --broker and --capacity"),
    "both kinds": (
        ["--broker", "c3.large", "--capacity", "9"],
        "found both of --broker and --capacity",
    ),
    "zero capacity": (["--capacity", "0"], "--capacity: found 0, expected"),
    "no capacity": (["--capacity", "much"], "--capacity: found 'much', expected"),
    "a negative price": (
        ["--capacity", "9", "--broker-hour", "-1"],
        "--broker-hour: found -1.0, expected zero or more dollars",
    ),
    "a negative gigabyte": (
        ["--broker", "c3.large", "--gigabyte", "-0.1"],
        "--gigabyte: found -0.1, expected",
    ),
    "a negative gigabyte in": (
        ["--broker", "c3.large", "--gigabyte-in", "-0.1"],
        "--gigabyte-in: found -0.1, expected",
    ),
    "a negative budget": (
        ["--broker", "c3.large", "--budget", "-5"],
        "--budget: found -5.0, expected",
    ),
    "a price beyond reason": (
        ["--capacity", "9", "--broker-hour", "1e308"],
        "--broker-hour: found 1e+308, expected zero or more dollars, at most",
    ),
    "a report where the plan goes": (
        ["--capacity", "9", "--out", "here", "--report", "here"],
        "--report here: the plan goes there",
    ),
    "an unknown type": (["--broker", "c3.larg"], "Did you mean c3.large"),
    "a type twice": (["--broker", "c3.large,c3.large"], "'c3.large' twice"),
    "a row twice": (["--broker", "t3.nano", "--broker", "t3.nano"], "twice"),
    "a price for a type": (
        ["--broker", "c3.large", "--broker-hour", "1"],
        "--broker-hour goes with --capacity",
    ),
    "a bad catalog": (
        ["--broker", "x", "--catalog", "bad.csv"],
        "bad.csv, line 2, column hour_usd: found '-3', expected",
    ),
    "no catalog": (["--broker", "x", "--catalog", "none.csv"], "none.csv cannot be"),
    "a catalog for a capacity": (
        ["--capacity", "9", "--catalog", "bad.csv"],
        "--catalog goes with --broker",
    ),
    "all headroom": (["--broker", "c3.large", "--headroom", "100%"], "headroom: found"),
    "no percentage": (["--broker", "c3.large", "--headroom", "0.2"], "--headroom: fou"),
    "no peak": (["--broker", "c3.large", "--peak-to-mean", "0.5"], "peak-to-mean: fou"),
    "an unknown selection": (
        ["--broker", "c3.large", "--selection", "best"],
        "selection: found 'best', expected random, greedy, exact, shared",
    ),
    "an unknown packing": (
        ["--broker", "c3.large", "--packing", "best"],
        "packing: found 'best', expected first-fit",
    ),
    "moves of nothing": (
        ["--broker", "c3.large", "--max-moves", "3"],
        "--max-moves goes with --from",
    ),
    "no time": (["--broker", "c3.large", "--seconds", "0"], "seconds: found 0"),
    "a negative threshold": (
        ["--broker", "c3.large", "--threshold", "-1"],
        "--threshold: found '-1', expected a whole number from 0 up",
    ),
    "a thousand with a comma": (
        ["--broker", "c3.large", "--threshold", "1,000"],
        "--threshold: found '000', expected",
    ),
    "a threshold twice": (
        ["--broker", "c3.large", "--threshold", "5,5"],
        "--threshold: found 5 twice",
    ),
    "output in the workload": (
        ["--broker", "c3.large", "--out", "w/plan"],
        "--out w/plan is in the workload, which must stay as it is",
    ),
    "a report in the workload": (
        ["--broker", "c3.large", "--report", "w/r.html"],
        "--report w/r.html is in the workload",
    ),
    "a change of several": (
        ["--broker", "c3.large", "--threshold", "5,6", "--from", "p"],
        "--from goes with one threshold and one --broker",
    ),
    "no plan to change": (
        ["--broker", "c3.large", "--from", "p"],
        "p is not a plan directory: it has no plan.json",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_bad_input_is_explained_and_writes_nothing(
    two_topics: str,
    in_tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    Path("bad.csv").write_text("type,hour_usd,capacity\nx,-3,7\n")
    before = sorted(str(path) for path in in_tmp_path.rglob("*"))
    first = [] if "--threshold" in arguments else ["--threshold", "5"]
    code, lines, err = printed(capsys, two_topics, *first, *arguments)
    assert (code, lines) == (2, [])
    assert "error: " in err
    assert message in err
    after = {str(path) for path in in_tmp_path.rglob("*")} - {
        str(Path("out").resolve())
    }
    assert sorted(after) == before


def test_a_workload_must_be_there(
    in_tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("nowhere", "--threshold", "5", "--broker", "c3.large")
    code, lines, err = printed(capsys, *call)
    assert (code, lines) == (2, [])
    assert "nowhere is not a workload directory: it has no workload.json" in err
    assert list(in_tmp_path.iterdir()) == []


def test_a_plan_is_replaced_only_by_force(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (two_topics, "--threshold", "14", "--capacity")
    assert printed(capsys, *call, "30")[0] == 0
    before = Path("out/plan/plan.json").read_bytes()
    code, _, err = printed(capsys, *call, "40")
    assert code == 2
    assert "out/plan exists already; nothing was written" in err
    assert Path("out/plan/plan.json").read_bytes() == before
    assert printed(capsys, *call, "40", "--force")[0] == 0
    assert Path("out/plan/plan.json").read_bytes() != before


def test_the_command_in_the_result_repeats_it(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ("--headroom", "10%", "--selection", "random", "--seed", "7")
    call = (mixture, "--threshold", "30", "--capacity", "400", *options, "--rounds=2")
    _, first = asked(capsys, *call, "--out", "a plan")
    words = shlex.split(first["command"])
    assert words[:3] == ["brokerwise", "provision", mixture]
    _, second = asked(capsys, *words[2:], "--force")
    assert second["digest"] == first["digest"]
    assert second["command"] == first["command"]
    _, other = asked(capsys, *words[2:], "--force", "--seed", "8")
    assert other["digest"] != first["digest"]


def test_an_interrupted_run_leaves_nothing(
    two_topics: str,
    in_tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from brokerwise.pipeline.provision.engines import MemoryEngine

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(MemoryEngine, "audit", interrupt)
    code, lines, err = printed(
        capsys, two_topics, "--threshold", "4,5", "--capacity", "30", "--out", "many"
    )
    assert (code, lines) == (130, [])
    assert "interrupted; nothing was written" in err
    assert [path.name for path in in_tmp_path.iterdir()] == [two_topics]


def test_a_plan_is_changed_rather_than_made_anew(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (mixture, "--threshold", "30", "--capacity", "400")
    _, before = asked(capsys, *call, "--out", "before")
    change = ("--from", "before", "--max-moves", "25", "--out", "after")
    code, result = asked(capsys, mixture, "--threshold", "40", *call[3:], *change)
    assert code == 0
    assert result["moves"] <= result["max_moves"] == 25
    assert result["moves"] + result["kept"] + result["added"] == result["pairs"]
    assert result["moves"] + result["kept"] + result["removed"] == before["pairs"]
    assert result["cost_before"] == before["cost"]
    assert brokerwise.audit("after") == []
    code, lines, _ = printed(
        capsys, mixture, "--threshold", "40", *call[3:], *change, "--force"
    )
    assert lines[1].startswith(
        f"  {result['moves']:,} of {result['pairs']:,} pairs move (budget 25), "
        f"{result['added']:,} added, {result['removed']:,} removed; "
    )


def test_a_run_that_time_has_stopped_says_so(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (mixture, "--threshold", "30", "--capacity", "400", "--seconds")
    code, result = asked(capsys, *call, "0.000001")
    assert (code, result["options"]["stopped"]) == (0, "time")
    assert json.loads(Path("out/plan/plan.json").read_text())["options"]["stopped"]
    assert brokerwise.audit("out/plan") == []
    _, lines, _ = printed(capsys, *call, "0.000001", "--force")
    said = "  the search was stopped by --seconds: another run may end elsewhere"
    assert said in lines
    _, result = asked(capsys, *call, "600", "--force")
    assert "stopped" not in result["options"]


def test_the_report_is_made_from_the_json(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (mixture, "--threshold", "30", "--capacity", "400", "--report", "r.html")
    _, result = asked(capsys, *call)
    reader = Reader(Path("r.html").read_text(encoding="utf-8"))
    assert reader.data("result") == result
    details = result["details"]
    assert [step["name"] for step in details["steps"]] == [
        *("naive", "(a)", "(b)", "(c)", "(d)", "(e)", "ours")
    ]
    assert details["steps"][-1]["cost"] == pytest.approx(result["cost"])
    money = details["spending"]
    spent = sum(kind["usd"] for kind in money["rent"])
    assert spent == pytest.approx(result["cost_brokers"])
    traffic = money["incoming_usd"] + money["outgoing_usd"]
    assert traffic == pytest.approx(result["cost_bandwidth"])
    assert f"Plan for {mixture}" in Path("r.html").read_text(encoding="utf-8")


def test_steps_that_would_take_too_long_are_left_out(
    mixture: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(command, "STEPS_AT_MOST", 10)
    call = (mixture, "--threshold", "30", "--capacity", "400", "--report", "r.html")
    code, lines, _ = printed(capsys, *call)
    assert code == 0
    pairs = mixed_workload().pairs
    said = f"left out: they take too long for {pairs} pairs (limit 10)"
    assert f"  steps (a) to (e) {said}" in lines
    reader = Reader(Path("r.html").read_text(encoding="utf-8"))
    assert said in reader.text
    assert "Cost and bounds" in reader.text


@pytest.mark.usefixtures("spark")
def test_spark_gives_the_same_plan(
    mixture: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = (mixture, "--threshold", "10,40", "--capacity", "400", "--rounds", "3")
    _, here = asked(capsys, *call, "--out", "here")
    code, there = asked(capsys, *call, "--out", "there", "--master", "local[2]")
    assert code == 0
    for one, other in zip(here["plans"], there["plans"], strict=True):
        assert one["digest"] == other["digest"]
        assert one["bound"] == other["bound"]
    code, _, err = printed(capsys, *call, "--out", "there", "--conf", "a=b")
    assert code == 2
    assert "exists already" in err


def test_help_shows_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["provision", "--help"]) == 0
    assert "brokerwise provision out/workload" in capsys.readouterr().out


def test_several_plans_do_not_go_into_a_plan(
    two_topics: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["provision", two_topics, "--threshold", "5", "--capacity", "99"]) == 0
    before = sorted(Path("out/plan").rglob("*"))
    several = ["--threshold", "5,6", "--capacity", "99", "--force"]
    assert run(["provision", two_topics, *several]) == 2
    assert "out/plan is a plan, expected a directory for several" in (
        capsys.readouterr().err
    )
    assert sorted(Path("out/plan").rglob("*")) == before
