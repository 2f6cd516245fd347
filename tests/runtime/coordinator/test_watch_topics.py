"""The topics that matter, whoever says them and whenever."""

from collections.abc import Mapping
from itertools import chain

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.coordinator.orders import LoadPage, TopicLoad
from brokerwise.runtime.coordinator.watch_topics import (
    SHOWN_TOPICS,
    TopicBoard,
    TopicRow,
    busiest,
    mattering,
    topic_rows,
)
from brokerwise.runtime.coordinator.watch_turns import Turns

LOADS = st.builds(
    TopicLoad, st.integers(0, 2), st.floats(0, 50), st.floats(0, 9), st.floats(0, 500)
)
PAGES = st.builds(LoadPage, st.dictionaries(st.sampled_from("abcdefgh"), LOADS))
TARGETS = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 300))


def page(**topics: tuple[int, float, float]) -> LoadPage:
    """Topics with what was delivered, what comes in a second, and the p90."""
    loads = {
        name: TopicLoad(delivered, rate, p90 / 2, p90)
        for name, (delivered, rate, p90) in topics.items()
    }
    return LoadPage(loads)


def board(
    pages: Mapping[str, LoadPage], targets: Mapping[str, float] | None = None
) -> TopicBoard:
    found = TopicBoard()
    for name, said in pages.items():
        found.take(name, said, targets or {})
    return found


def test_of_a_brokers_page_only_what_is_needed_is_read() -> None:
    text = (
        b'{"broker": "b0", "steps": {"x": [1]}, "topics": {"news": {"received": 9,'
        b' "delivered": 8, "received_per_second": 1.5, "p50_ms": 2, "p99_ms": 1e9}}}'
    )
    found = msgspec.json.decode(text, type=LoadPage)
    assert found == LoadPage({"news": TopicLoad(8, 1.5, 2.0, 0.0)})


def test_a_row_says_whether_the_target_is_met_if_that_can_be_said() -> None:
    said = page(slow=(1, 5.0, 90.0), quick=(1, 6.0, 10.0), silent=(0, 0.0, 0.0))
    rows = {row.topic: row for row in topic_rows("b0", said, {"slow": 50, "quick": 10})}
    assert rows["slow"] == TopicRow("slow", "b0", 5.0, 45.0, 90.0, 50, False)
    assert rows["quick"].met is True
    assert rows["silent"] == TopicRow("silent", "b0", 0.0, None, None, None, None)
    (waiting,) = topic_rows("b0", page(new=(0, 1.0, 0.0)), {"new": 50})
    assert (waiting.target_ms, waiting.met) == (50, None)


def test_the_latest_for_their_targets_come_first_then_the_busiest() -> None:
    said = page(
        busy=(1, 99.0, 900.0), calm=(1, 1.0, 900.0), fine=(1, 2.0, 10.0),
        late=(1, 3.0, 80.0), unheard=(0, 50.0, 0.0),
    )  # fmt: skip
    targets = {"fine": 20.0, "late": 40.0, "unheard": 1.0}
    rows = mattering(topic_rows("b0", said, targets))
    assert [row.topic for row in rows] == ["late", "fine", "busy", "unheard", "calm"]
    assert [r.topic for r in busiest(rows, 2)] == ["busy", "unheard"]


def test_a_target_of_nothing_cannot_be_met() -> None:
    rows = list(topic_rows("b0", page(a=(1, 1.0, 5.0), b=(1, 1.0, 9.0)), {"a": 0.0}))
    assert mattering(rows, 1)[0].topic == "a"
    assert mattering(rows, 1)[0].met is False


@given(st.dictionaries(st.sampled_from(["b0", "b1", "b2"]), PAGES), TARGETS)
def test_the_board_shows_what_all_rows_together_would(
    pages: dict[str, LoadPage], targets: dict[str, float]
) -> None:
    found = board(pages, targets)
    rows = [
        row for name, said in pages.items() for row in topic_rows(name, said, targets)
    ]
    assert found.rows() == mattering(rows, len(rows) + 1)
    assert found.late() == len({row.topic for row in rows if row.met is False})
    known = [row for row in rows if row.p90_ms is not None]
    targeted = [row for row in known if row.target_ms is not None]
    worst = [row.p90_ms for row in targeted or known]
    assert found.worst_p90() == (max(worst) if worst else None)  # type: ignore[type-var]


def test_a_channels_topic_on_two_brokers_is_one() -> None:
    fires = {"channel/near?type=fire": TopicLoad(1, 1.0, 1.0, 1.0)}
    floods = {"channel/near?type=flood": TopicLoad(1, 1.0, 1.0, 1.0)}
    news = page(news=(1, 1.0, 1.0)).topics
    found = board({"b0": LoadPage(fires | news), "b1": LoadPage(fires | floods)})
    assert found.channels() == 2


def test_of_very_many_topics_those_are_shown_that_matter() -> None:
    pages = {
        f"b{b}": LoadPage({f"t{b}-{n}": TopicLoad(1, n, 1, 1) for n in range(1_000)})
        for b in range(3)
    }
    rows = board(pages).rows()
    assert len(rows) == SHOWN_TOPICS
    assert min(row.received_per_second for row in rows) >= 1_000 - SHOWN_TOPICS / 3 - 1


def test_what_a_broker_says_takes_the_place_of_what_it_said() -> None:
    found = board({"b0": page(a=(1, 1.0, 7.0)), "b1": page(b=(1, 2.0, 8.0))})
    found.take("b0", page(c=(1, 3.0, 9.0)), {})
    assert [row.topic for row in found.rows()] == ["c", "b"]
    found.drop("b1")
    found.drop("stranger")
    assert [row.topic for row in found.rows()] == ["c"]
    found.keep(["b1"])
    assert (found.rows(), found.late(), found.worst_p90()) == ([], 0, None)


def test_few_are_asked_all_at_once_and_again_after_a_while() -> None:
    turns = Turns(10.0, 4)
    assert turns.next(["b0", "b1"], 0.0) == ["b0", "b1"]
    assert turns.is_round()
    assert turns.next(["b0", "b1"], 9.9) == []
    assert turns.next(["b0", "b1", "b2"], 9.95) == ["b2"]
    assert turns.next(["b0", "b1", "b2"], 10.0) == ["b0", "b1"]


@pytest.mark.parametrize("brokers", [10, 100, 250])
def test_many_are_asked_in_turn_at_most_ten_a_second(brokers: int) -> None:
    names = [f"b{number}" for number in range(brokers)]
    turns = Turns(10.0, 10)
    asked: list[list[str]] = []
    for second in range(brokers // 10):
        asked.append(turns.next(names, float(second)))
        assert turns.is_round() == (second == brokers // 10 - 1)
    assert [len(some) for some in asked] == [10] * (brokers // 10)
    assert sorted(chain.from_iterable(asked)) == sorted(names)
    later = turns.next(names, float(max(10, brokers // 10)))
    assert later == asked[0]


def test_who_comes_is_asked_before_who_was_and_who_goes_is_forgotten() -> None:
    turns = Turns(1.0, 1)
    assert turns.next(["b0"], 0.0) == ["b0"]
    assert turns.next(["b0", "new"], 5.0) == ["new"]
    assert turns.next(["new"], 6.0) == ["new"]
    assert turns.next(["b0", "new"], 6.0) == ["b0"]
