"""The reports of latency models, and what is said of them anywhere."""

import json
from typing import Any

import pytest
from tests.show.reading import Reader

from brokerwise.show.latency import (
    evaluation_answer,
    plots,
    r2_text,
    score_table,
    short_name,
    source_lines,
    training_answer,
    training_table,
    verdict_lines,
    verdict_table,
)
from brokerwise.show.reports import render

SOURCE = {
    "path": "<b>d</b>",
    "digest": "ab" * 32,
    "source": "measured",
    "configurations": {"1": 100, "2": 1200},
    "settings": {"cores": 1},
}


def score(mean: float | None, deviation: float | None = 0.0) -> dict[str, Any]:
    return {"mean": mean, "deviation": deviation}


def kind(test: float, missed: int, accepted: int = 40) -> dict[str, Any]:
    judged = {"accepted": accepted, "missed": missed, "met": 50, "refused": 5}
    return {
        "train": score(0.99912, 0.001),
        "test": score(test, 0.0123),
        "verdicts": judged,
    }


def points(train: float) -> list[dict[str, float]]:
    return [
        {"topics": 1, "configurations": n, "train": train, "validation": 2 * train}
        for n in (20, 40)
    ]


def result_of(**changed: Any) -> dict[str, Any]:
    """What `evaluate` prints of two numbers of topics, and the details of a report."""
    kinds = [
        {"paper": kind(0.9412, 4), "unified": kind(0.98599, 1)},
        {"paper": kind(0.9934, 0), "unified": kind(0.9931, 0)},
    ]
    observed = [10.0, 100.0, 1000.0]
    result = {
        "kind": "latency evaluate",
        "splits": 20,
        "test_share": 0.2,
        "seed": 3,
        "target_ms": 250.0,
        "margin": 0.1,
        "sets": [
            {
                "name": str(at + 1),
                "topics": at + 1,
                "configurations": 100,
                "kinds": each,
                "curves": {"paper": points(0.1), "unified": points(0.05)},
            }
            for at, each in enumerate(kinds)
        ],
        "left_out": 0,
        "late": 0,
        "larger": 0,
        "remarks": ["measured and simulated data together"],
        "sources": [SOURCE],
        "data": ["d"],
        "tables": [],
        "model": None,
        "version": "0.1.0",
        "command": "brokerwise latency evaluate d",
        "seconds": {"read": 0.1, "total": 2.0},
        "details": {
            "points": [
                {
                    "name": str(k),
                    "topics": k,
                    "observed_ms": observed,
                    "predicted_ms": {"paper": observed, "unified": [11, 90, 1300]},
                }
                for k in (1, 2)
            ]
        },
    }
    return result | changed


def training_of(**changed: Any) -> dict[str, Any]:
    judged = {"accepted": 10, "missed": 1, "met": 9, "refused": 0}
    each = {"configurations": 30, "held_out": 6, "train": 0.99, "verdicts": judged}
    base = result_of()
    shared = ("seed", "target_ms", "margin", "sources", "remarks", "version", "seconds")
    return {
        **{name: base[name] for name in (*shared, "late", "larger")},
        "kind": "latency train",
        "model_kind": "unified",
        "most_topics": 2,
        "by_topics": {"1": {**each, "test": 0.981}, "2": {**each, "test": 0.9639}},
        "candidates": [
            {"blend": 0.9, "rounds": 150, "rate": 0.1, "leaves": 8, "least": 10}
            | {"r2": 0.98, "chosen": True}
        ],
        "parameters": {"factor": 1.02, "overhead_ms": 0.25},
        "ranges": {"processing_ms": [2.5, 10], "rate_per_second": [4, 300]},
        "out": "out/model",
        "digest": "cd" * 32,
        "command": "brokerwise latency train d",
        "details": {"points": base["details"]["points"][:1]},
        **changed,
    }


def test_r2_is_never_rounded_up() -> None:
    assert [r2_text(v) for v in (0.98599, 0.99999, 1.0, -0.5, None, float("nan"))] == [
        *("0.985", "0.999", "1.000", "-0.500", "-", "-")
    ]


def test_the_answer_compares_both_kinds() -> None:
    assert evaluation_answer(result_of()) == (
        "The unified model predicts p90 with R^2 0.985 to 0.993 on configurations that "
        "it has not seen; the paper's models with 0.941 to 0.993 (better in 1 of 2)."
    )
    better = result_of(sets=result_of()["sets"][:1])
    assert evaluation_answer(better) == (
        "The unified model predicts p90 with R^2 0.985 on configurations that it has "
        "not seen; the paper's models with 0.941 (never better)."
    )


def test_a_short_training_of_the_papers_models_stands_beside_the_long_one() -> None:
    sets = result_of()["sets"][:1]
    kinds = sets[0]["kinds"] | {"paper-200": kind(0.9871, 0)}
    both = evaluation_answer(result_of(sets=[{**sets[0], "kinds": kinds}]))
    assert both.endswith(
        "; the paper's models with 0.941 (never better); the paper's models after 200 "
        "iterations with 0.987 (better in 1 of 1)."
    )


def test_one_kind_alone_is_compared_with_none() -> None:
    sets = result_of()["sets"][:1]
    for name, said in (
        (
            "paper",
            "The paper's models predict p90 with R^2 0.941 on configurations tha",
        ),
        ("unified", "The unified model predicts p90 with R^2 0.985 on configurations"),
    ):
        alone = [{**sets[0], "kinds": {name: sets[0]["kinds"][name]}}]
        answer = evaluation_answer(result_of(sets=alone))
        assert answer.startswith(said)
        assert answer.endswith(
            "they have not seen." if name == "paper" else "it has not seen."
        )


def test_scores_have_their_deviation() -> None:
    table = score_table(result_of())
    assert table.columns[2:] == (
        *("paper train", "paper test", "unified train", "unified test"),
    )
    assert table.rows[0] == [
        *("1", "100", "0.999 \N{PLUS-MINUS SIGN} 0.001"),
        *("0.941 \N{PLUS-MINUS SIGN} 0.012", "0.999 \N{PLUS-MINUS SIGN} 0.001"),
        "0.985 \N{PLUS-MINUS SIGN} 0.012",
    ]
    assert "over 20 splits" in table.caption


def test_wrong_predictions_are_counted_for_each_kind() -> None:
    assert list(verdict_lines(result_of())) == [
        "the paper's models: of 80 topics predicted to meet 250 ms (margin 10 %), 5 % "
        "missed; of 100 that met, 10 % were not predicted to",
        "the unified model: of 80 topics predicted to meet 250 ms (margin 10 %), 1.25 "
        "% missed; of 100 that met, 10 % were not predicted to",
    ]
    table = verdict_table(result_of())
    assert table is not None
    assert table.rows[0] == ["1", "10 %", "10 %", "2.5 %", "10 %"]
    nobody = result_of()["sets"][0]
    nobody["kinds"]["paper"] = kind(0.9, 0, accepted=0)
    table = verdict_table(result_of(sets=[nobody]))
    assert table is not None and table.rows[0][1] == "none"
    assert list(verdict_lines(result_of(target_ms=None))) == []
    assert verdict_table(result_of(target_ms=None)) is None


def test_where_data_comes_from_is_said() -> None:
    (line,) = source_lines([SOURCE])
    assert line == (
        "measured data <b>d</b>: configurations by topics: 100 of 1, 1,200 of 2, "
        "brokers of 1 core"
    )


def test_a_report_shows_scores_points_and_curves() -> None:
    html = render(result_of())
    page = Reader(html)
    for said in (
        evaluation_answer(result_of()),
        "Predicted and seen: 2 topics",
        "Learning curve: 1 topic",
        "False positives, the paper's models",
        "measured and simulated data together",
    ):
        assert said in page.text
    assert "<b>d</b>" not in html.replace("\\u003c", "")
    kept = json.loads(dict(page.scripts)["result"])
    assert kept["sets"] == result_of()["sets"]
    assert render(result_of()) == html


def test_points_lie_between_lines_of_the_target() -> None:
    scatter, curve, *_, scores = plots(result_of())
    assert [each.name for each in scatter.series] == [
        *("paper", "unified", "exact", "target", "predicted to meet it")
    ]
    assert scatter.series[1].y == [11, 90, 1300]
    assert set(scatter.series[3].x) == {250.0}
    assert set(scatter.series[4].y) == {225.0}
    assert "lower right" in scatter.caption
    assert [(each.name, each.dashed) for each in curve.series] == [
        ("paper, train", True),
        ("paper, validation", False),
        ("unified, train", True),
        ("unified, validation", False),
    ]

    assert scores.series[0].y == pytest.approx([0.0588, 0.0066])
    assert scores.series[1].y == pytest.approx([0.01401, 0.0069])


def test_a_plot_of_many_points_shows_some_of_them() -> None:
    details = {
        "points": [
            {
                "name": "1",
                "topics": 1,
                "observed_ms": [float(n + 1) for n in range(1000)],
                "predicted_ms": {"paper": [2.0] * 1000, "unified": [3.0] * 1000},
            }
        ]
    }
    sets = result_of()["sets"][:1]
    found = plots(result_of(sets=sets, details=details, target_ms=None))
    assert len(found[0].series[0].x) == 400
    assert found[0].caption.endswith("400 of 1,000 are shown.")
    assert [each.name for each in found[0].series] == ["paper", "unified", "exact"]


def test_a_model_that_was_given_is_reported_without_curves() -> None:
    sets = [
        {
            **each,
            "kinds": {"model": {**each["kinds"]["unified"], "train": None}},
            "curves": {},
        }
        for each in result_of()["sets"]
    ]
    details = result_of()["details"]["points"]
    for each in details:
        each["predicted_ms"] = {"model": [1.0, 2.0, 3.0]}
    given = result_of(
        sets=sets, model="m", model_digest="d", details={"points": details}, splits=None
    )
    page = Reader(render(given))
    assert "The model predicts p90 with R^2 0.985 to 0.993" in page.text
    assert "Learning curve" not in page.text
    assert score_table(given).columns == ("topics", "configurations", "model test")


def test_scores_of_nothing_are_left_out() -> None:
    each = result_of()["sets"][0]
    each["kinds"]["unified"] |= {"test": score(None, None)}
    details = {"points": result_of()["details"]["points"][:1]}
    result = result_of(sets=[each], details=details)
    assert "with R^2 - on" in evaluation_answer(result)
    assert score_table(result).rows[0][-1] == "-"
    render(result)


def test_tables_are_called_by_their_file() -> None:
    assert short_name({"name": "/a/k1.csv"}) == "k1.csv"
    assert short_name({"name": "1"}) == "1 topic"
    assert short_name({"name": "4"}) == "4 topics"


def test_the_report_of_a_training_says_what_was_tried() -> None:
    page = Reader(render(training_of()))
    assert training_answer(training_of()) == (
        "Unified model for up to 2 topics on a broker: R^2 of p90 0.963 to 0.981 on "
        "configurations that were held back."
    )
    for said in (
        training_answer(training_of()),
        "What was tried",
        "1.02 times its processing",
        "2.5 to 10",
        "2 of 20 topics predicted to meet the target missed it",
    ):
        assert said in page.text
    assert training_table(training_of()).rows[1] == [
        *("2", "30", "6", "0.990", "0.963", "10 %", "0 %")
    ]


@pytest.mark.parametrize("kind", ["paper", "unified"])
def test_a_training_without_a_target_counts_no_verdicts(kind: str) -> None:
    result = training_of(target_ms=None, model_kind=kind, candidates=[])
    assert len(training_table(result).columns) == 5
    page = Reader(render(result))
    assert "False negatives" not in page.text
    assert ("A message takes" in page.text) == (kind == "unified")
