"""Where a topic or a user is, and why: by what is stored, and nothing else."""

import calendar
import re
import time
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import plain_seed, running
from tests.runtime.coordinator.seeds import COLOCATED, OVERLAY, PLANNED, States

from brokerwise.runtime.coordinator import (
    drains,
    leases,
    moves,
    routes,
    sessions,
    status,
)
from brokerwise.runtime.coordinator.balance.proposals import (
    BrokerRecord,
    MoveRecord,
    ProposalRecord,
    store_proposal,
)
from brokerwise.runtime.coordinator.status import MOST_FOUND, MOST_TOPICS, find
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import BrokerRegistration, Then
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession
from brokerwise.runtime.protocol.watch import SearchResult, SessionMatch, TopicMatch

AT = calendar.timegm((2026, 1, 2, 12, 4, 31, 0, 0, 0))
PROPOSAL = ProposalRecord(
    "planned",
    (BrokerRecord("b0", 1, 24_720_000, 18_060_000), BrokerRecord("b1", 2, 0, 6_000)),
    (MoveRecord("ann", "b0", "b1"),),
    bound=0,
    moves_before=0,
    period_seconds=60,
)


def up(sql: Sql, *brokers: str, now: float = AT) -> None:
    for name in brokers:
        leases.register(sql, BrokerRegistration(name, f"ws://{name}", 1), now)


def why(sql: Sql, user: str) -> str:
    return next(each.why for each in find(sql, user).users if each.user == user)


def why_topic(sql: Sql, topic: str) -> str:
    return next(each.why for each in find(sql, topic).topics if each.topic == topic)


def moved(sql: Sql, user: str, source: str, target: str, *, decided: bool) -> None:
    """The user's session has gone there."""
    number = store_proposal(sql, PROPOSAL, "", AT).number if decided else None
    move = moves.insert_move(sql, user, source, target, decision=number)
    moves.take_answer(sql, move, "absent")


def test_without_a_plan_a_user_is_where_the_placement_put_it(states: States) -> None:
    sql = states(plain_seed(2, "nearest"))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    assert why(sql, "ann") == "placed by nearest"


def test_who_has_only_registered_is_nowhere(states: States) -> None:
    sql = states(plain_seed(1))
    sessions.register_user(sql, "ann", None)
    assert why(sql, "ann") == "it is registered and has no session"


def test_with_a_plan_a_session_is_where_that_puts_it(states: States) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1")
    assert why(sql, "ben") == why(sql, "ann") == "the plan puts it there"


def test_a_session_whose_broker_was_lost_says_when(states: States) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1")
    leases.lose(sql, "b1", AT)
    lost = "its broker b1 was lost at 12:04:31 UTC"
    assert why(sql, "ben") == lost
    assert why(sql, "ann") == f"b0: the plan puts it there; b0: {lost}"


def test_sessions_on_several_brokers_have_a_reason_each(states: States) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1", "b2")
    leases.lose(sql, "b1", AT)
    sql.execute("UPDATE sessions SET broker = 'b2' WHERE home = 'b1'")
    assert why(sql, "ann") == (
        "b0: the plan puts it there; b2: its broker b1 was lost at 12:04:31 UTC"
    )


@pytest.mark.parametrize(
    ("end", "words"),
    [("drained", "was drained"), ("stopped", "was stopped")],
)
def test_a_session_away_from_a_broker_that_was_told_to_go_says_so(
    states: States, end: str, words: str
) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1")
    sql.execute("UPDATE sessions SET broker = 'b0'")
    sql.execute("UPDATE brokers SET state = ?, since = ? WHERE name = 'b1'", (end, AT))
    assert why(sql, "ben") == f"its broker b1 {words} at 12:04:31 UTC"


def test_a_session_on_its_way_says_where_to(states: States) -> None:
    sql = states(plain_seed(2))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    moves.request_move(sql, "ann", "b1", "b0")
    assert why(sql, "ann") == "on its way to b0 (move 1)"
    sql.execute("UPDATE moves SET decision = 3")
    assert why(sql, "ann") == "on its way to b0 by decision 3"


def test_while_its_broker_is_drained_a_session_waits_for_its_move(
    states: States,
) -> None:
    sql = states(plain_seed(2))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    drains.begin_drain(sql, "b1", Then.STAY, AT)
    assert why(sql, "ann") == "on its way to b0 (move 1)"


def test_a_session_that_was_moved_says_from_where_and_by_what(states: States) -> None:
    sql = states(plain_seed(2))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    moved(sql, "ann", "b1", "b0", decided=False)
    assert why(sql, "ann") == "moved from b1 (move 1)"
    moved(sql, "ann", "b0", "b1", decided=True)
    assert why(sql, "ann") == (
        "moved from b0 by decision 1 (planned): max load 412.0 -> 301.0 kB/s"
    )


def test_a_decision_counts_also_where_there_is_a_plan(states: States) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1")
    moved(sql, "ben", "b1", "b0", decided=True)
    assert why(sql, "ben").startswith("moved from b1 by decision 1 (planned)")
    leases.lose(sql, "b0", AT)
    assert why(sql, "ben") == "its broker b0 was lost at 12:04:31 UTC"
    up(sql, "b0")
    assert why(sql, "ben") == "it is at home on b0, which is up"
    moved(sql, "ben", "b1", "b0", decided=False)
    assert why(sql, "ben").startswith("moved from b1 by decision 1 (planned)")


def test_a_decision_that_is_forgotten_is_only_named(states: States) -> None:
    sql = states(plain_seed(2))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    moved(sql, "ann", "b1", "b0", decided=True)
    sql.execute("UPDATE decisions SET proposal = NULL")
    assert why(sql, "ann") == "moved from b1 by decision 1 (planned)"
    sql.execute("DELETE FROM decisions")
    assert why(sql, "ann") == "moved from b1 by decision 1"


def test_a_move_that_came_to_nothing_is_no_reason(states: States) -> None:
    sql = states(plain_seed(2))
    up(sql, "b0", "b1")
    sessions.request_broker(sql, "ann", None)
    moves.take_answer(sql, moves.request_move(sql, "ann", "b1", "b0"), "declined")
    assert why(sql, "ann") == "placed by round-robin"


def test_when_old_moves_are_forgotten_the_plan_is_not_given_as_the_reason(
    states: States,
) -> None:
    sql = states(PLANNED)
    up(sql, "b0", "b1")
    sql.execute("INSERT INTO sqlite_sequence VALUES ('moves', ?)", (10**6,))
    assert why(sql, "ben") == "it is at home there"


def test_who_stays_on_a_broker_that_has_gone_is_told_so(states: States) -> None:
    sql = states(OVERLAY)
    assert why(sql, "ann") == "its broker b0 has not come up yet"
    up(sql, "b0")
    assert why(sql, "ann") == "the plan puts it there"
    leases.lose(sql, "b0", AT)
    assert why(sql, "ann") == "its broker b0 was lost at 12:04:31 UTC"


def test_topics_without_a_home_are_where_sessions_ask_for_them(states: States) -> None:
    planned, plain = states(PLANNED), states(plain_seed(1))
    assert why_topic(planned, "news") == "no broker carries it now"
    for sql in (planned, plain):
        up(sql, "b0")
        routes.join(sql, "b0", "news")
    words = "carried where sessions ask for it"
    assert why_topic(planned, "news") == words
    assert why_topic(plain, "news") == f"{words}, or by one in turn if none does"


def test_a_topic_with_a_home_is_there_or_it_is_said_why_not(states: States) -> None:
    sql = states(COLOCATED)
    assert why_topic(sql, "news") == "its broker b0 has not come up yet"
    up(sql, "b0", "b1", "b2")
    assert why_topic(sql, "news") == (
        "the plan puts it on b0, which does not carry it yet"
    )
    routes.join(sql, "b0", "news")
    assert why_topic(sql, "news") == "the plan puts it there"
    routes.join(sql, "b1", "news")
    assert why_topic(sql, "news") == "the plan puts it on b0; b1 carries it now"
    leases.lose(sql, "b0", AT)
    routes.join(sql, "b2", "news")
    assert why_topic(sql, "news") == (
        "its broker b0 was lost at 12:04:31 UTC; b1, b2 carry it now"
    )


def test_times_are_those_of_the_day(states: States) -> None:
    sql = states(COLOCATED)
    up(sql, "b0")
    leases.lose(sql, "b0", time.time())
    assert re.search(r"lost at \d\d:\d\d:\d\d UTC$", why_topic(sql, "news"))


def carrying(states: States, *topics: str) -> Sql:
    """A fleet without a plan whose only broker carries topics."""
    sql = states(plain_seed(1))
    up(sql, "b0")
    for topic in topics:
        routes.join(sql, "b0", topic)
    return sql


def topics(found: SearchResult) -> list[str]:
    return [each.topic for each in found.topics]


def test_the_same_comes_first_then_what_begins_so_then_what_has_it_inside(
    states: States,
) -> None:
    sql = carrying(states, "a news", "newsroom", "news", "b News", "new", "newspaper")
    found = find(sql, "news")
    assert topics(found) == ["news", "newspaper", "newsroom", "a news", "b News"]
    assert not found.more
    inside = ["a news", "b News", "news", "newspaper", "newsroom"]
    assert topics(find(sql, "NEWS")) == inside
    assert find(sql, "olds") == SearchResult((), (), more=False)


@pytest.mark.parametrize("text", ["%", "_", "'", '"', "ä", "a b", "*", "?", "\\"])
def test_no_letter_means_more_than_itself(states: States, text: str) -> None:
    sql = carrying(states, "plain", f"x{text}y")
    assert topics(find(sql, text)) == [f"x{text}y"]
    assert topics(find(sql, text + "\x00")) == []


def test_of_many_the_first_are_shown_and_that_there_are_more_is_said(
    states: States,
) -> None:
    sql = carrying(states, *(f"t{number:03}" for number in range(MOST_FOUND)))
    assert not find(sql, "t").more
    routes.join(sql, "b0", "t999")
    found = find(sql, "t")
    assert topics(found) == [f"t{number:03}" for number in range(MOST_FOUND)]
    assert found.more
    assert find(sql, "0").more is False


def test_one_that_is_called_so_is_found_among_very_many(
    states: States,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(status, "SCANNED", 3)
    sql = carrying(states, "a", "b", "c", "d", "e/d", "z")
    assert topics(find(sql, "z")) == ["z"]
    assert topics(find(sql, "e")) == ["e/d"]
    assert topics(find(sql, "d")) == ["d"], "e/d was not looked through"
    assert find(sql, "d").more


def test_a_planned_topic_has_a_rate_a_second_and_its_target(states: States) -> None:
    sql = states(COLOCATED)
    up(sql, "b0")
    routes.join(sql, "b0", "news")
    (topic,) = find(sql, "news").topics
    assert topic.why
    assert topic == TopicMatch("news", ("b0",), "b0", 10 / 60, 250.0, topic.why)


def test_a_topic_without_a_plan_or_a_period_has_no_rate(states: States) -> None:
    (topic,) = find(carrying(states, "news"), "news").topics
    assert (topic.rate, topic.target_ms, topic.home) == (None, None, "")
    rated = states(Seed((SeedBroker("b0"),), "plan", "fill", rates={"news": 5}))
    (topic,) = find(rated, "news").topics
    assert (topic.rate, topic.brokers) == (None, ())


def test_a_planned_user_has_its_sessions_with_their_topics(states: States) -> None:
    sql = states(PLANNED)
    (ann,) = find(sql, "ann").users
    assert ann.sessions == (
        SessionMatch("b0", "b0", ("news", "sport"), 2),
        SessionMatch("b1", "b1", ("art",), 1),
    )


def test_of_very_many_topics_of_a_session_the_first_are_shown(states: States) -> None:
    many = tuple(f"t{number:03}" for number in range(MOST_TOPICS + 1))
    session = SeedSession("ann", "b0", many)
    sql = states(Seed((SeedBroker("b0"),), "plan", "fill", sessions=(session,)))
    ((shown,),) = (user.sessions for user in find(sql, "ann").users)
    assert shown.topics == many[:MOST_TOPICS]
    assert shown.topic_count == MOST_TOPICS + 1


def test_a_user_without_a_plan_is_found_by_its_session_or_its_registration(
    states: States,
) -> None:
    sql = carrying(states)
    sessions.register_user(sql, "anna", None)
    sessions.request_broker(sql, "ann", None)
    found = find(sql, "ann")
    assert [user.user for user in found.users] == ["ann", "anna"]
    (session,) = found.users[0].sessions
    assert session == SessionMatch("b0", "", (), None)
    assert found.users[1].sessions == ()


async def test_it_is_asked_for_over_http(tmp_path: Path) -> None:
    async with running(tmp_path, PLANNED, chores=False) as fleet:
        found = await fleet.done("/watch/find?text=a")
        assert [topic["topic"] for topic in found["topics"]] == ["art"]
        assert [user["user"] for user in found["users"]] == ["ann"]
        for bad in ("", "?text=", f"?text={'x' * 257}"):
            assert (await fleet.call(f"/watch/find{bad}"))[0] == 422
