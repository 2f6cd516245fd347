"""The report of which topics met their targets."""

from typing import Any

import pytest

from brokerwise.show.replay import targets_answer
from brokerwise.show.reports import render


def result(*p90s: float, **more: Any) -> dict[str, Any]:
    topics = [
        {
            "topic": f"gps/<{number}>",
            "replica": 0,
            "broker": number % 2,
            "target_ms": 250.0,
            "predicted_p90_ms": 20.0 + number,
            "measured_p90_ms": p90,
            "messages": 100,
            "messages_over": 0,
            "met": p90 <= 250,
        }
        for number, p90 in enumerate(p90s)
    ]
    return {
        "plan": "out/colocate",
        "kind": "replay colocate",
        "plan_kind": "colocate",
        "digest": "abc",
        "version": "0.1.0",
        "command": "brokerwise replay",
        "brokers": 2,
        "messages": 100 * len(p90s),
        "topics": topics,
        "topics_over_share": sum(not t["met"] for t in topics) / len(topics),
        "messages_over_share": 0.025,
        "late": 0,
        "censored": False,
        "seconds": {"total": 12.3},
        **more,
    }


def test_the_answer_is_one_sentence() -> None:
    assert targets_answer(result(30.0, 40.0)).startswith(
        "Yes: 2 topics on 2 brokers, and the"
    )
    assert (
        targets_answer(result(30.0, 400.0))
        == "No: 1 of 2 topics on 2 brokers missed (50 %)."
    )


def test_topics_are_there_the_latest_first_and_names_are_escaped() -> None:
    page = render(result(30.0, 400.0, 40.0))
    assert "gps/<" not in page.partition("application/json")[0]
    first, second, third = (page.index(f"gps/&lt;{n}&gt;</th>") for n in (1, 2, 0))
    assert first < second < third


@pytest.mark.parametrize(
    ("more", "words"),
    [({"late": 45}, "by more than 5 ms"), ({"censored": True}, "lower bounds")],
)
def test_what_makes_figures_doubtful_is_said(more: dict[str, Any], words: str) -> None:
    assert words in render(result(30.0, **more))
    assert words not in render(result(30.0))
