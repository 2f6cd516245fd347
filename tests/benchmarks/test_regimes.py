"""The benchmark that holds the default against every combination."""

import json

import pytest
from benchmarks.regimes import Answer, Regime, Row

from benchmarks import regimes
from brokerwise.planners.provision import portfolio

LARGE_TOPICS = Regime("large topics", 0.4, 10, 40, 400, threshold=0.2)


def test_there_are_40_regimes_from_tiny_topics_to_half_a_broker() -> None:
    every = list(regimes.regimes())
    assert len({regime.name for regime in every}) == len(every) == 40
    sizes = [regime.size for regime in every]
    assert (min(sizes), max(sizes)) == (1e-6, 0.5)
    assert {regime.subscribers for regime in every} > {1, 5000}
    assert any(regime.spare is not None for regime in every)


def test_a_size_is_that_of_the_largest_topic_against_a_broker() -> None:
    problem = Regime("half", 0.5).problem()
    assert 2 * problem.workload.rates[0] == problem.fleet.largest_capacity


@pytest.mark.parametrize("everything", [True, False], ids=["default", "one only"])
def test_the_table_ends_with_whether_the_default_was_dearer(
    everything: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if not everything:
        monkeypatch.setattr(portfolio, "PAIRS", 0)
    monkeypatch.setattr(regimes, "regimes", lambda: iter([LARGE_TOPICS]))
    monkeypatch.setattr("sys.argv", ["regimes"])
    with pytest.raises(SystemExit) as ended:
        regimes.main()
    *_, head, row, last = capsys.readouterr().out.splitlines()
    assert ended.value.code == (0 if everything else 1)
    assert last == f"default never dearer: {'yes' if everything else 'no'}"
    assert head.split()[-24:] == list("fgLmct" * 4)
    assert row.split()[2] == ("random+tight" if everything else "shared+tight")


def test_json_has_every_combination_and_the_optimum_of_what_is_small(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["regimes", "--json", "--only", "0.1 small"])
    with pytest.raises(SystemExit) as ended:
        regimes.main()
    row, last = map(json.loads, capsys.readouterr().out.splitlines())
    assert ended.value.code == 0 and last == {"default_never_dearer": True}
    assert len(row["combinations"]) == 24
    assert row["default"]["bound"] <= row["optimum"] * (1 + 1e-6)
    assert row["optimum"] <= row["default"]["cost"] * (1 + 1e-6)


def test_no_plan_where_another_has_one_counts_as_dearer() -> None:
    none = Answer("shared+tight", "infeasible", 0, None, None)
    some = Answer("greedy+tight", "feasible", 3, 9.0, 8.0)
    assert not Row(LARGE_TOPICS, none, {"greedy+tight": some}, None, 0.0).never_dearer
    assert Row(LARGE_TOPICS, some, {"shared+tight": none}, None, 0.0).never_dearer
    assert Row(LARGE_TOPICS, none, {"shared+tight": none}, None, 0.0).never_dearer
