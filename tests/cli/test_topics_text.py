"""Topics of a fleet, in words."""

from brokerwise.cli.topics_text import topics_text
from brokerwise.runtime.fleet.operator import TopicStatus


def topic(
    name: str, p90: float | None, target: float | None, **more: str
) -> TopicStatus:
    places = {"broker": "b0", "home": "b0", **more}
    return TopicStatus(
        topic=name,
        received=10,
        delivered=10,
        received_per_second=2.5,
        p50_ms=p90,
        p90_ms=p90,
        target_ms=target,
        **places,
    )


def test_how_many_meet_their_targets_is_said_first() -> None:
    lines = topics_text([topic("gps", 300.0, 250.0), topic("art", 3.25, 250.0)])
    assert lines.splitlines()[:4] == [
        "1 of 2 topics meets its target.",
        "  topic  broker  messages/s       p50       p90    target",
        "  gps    b0             2.5  300.0 ms  300.0 ms  250.0 ms  missed",
        "  art    b0             2.5    3.2 ms    3.2 ms  250.0 ms     met",
    ]


def test_topics_that_nobody_can_judge_are_counted_apart() -> None:
    text = topics_text([topic("gps", 1.0, 250.0), topic("art", None, 250.0)])
    assert text.startswith(
        "1 of 1 topic meets its target; 1 without a target or without deliveries."
    )
    assert topics_text([topic("news", 1.0, None)]).startswith(
        "1 topic; none has a target."
    )
    assert topics_text([]) == "No topic has had a message or a session yet."


def test_a_topic_away_from_home_is_named() -> None:
    away = [topic("gps", 1.0, 2.0, broker="b1"), topic("art", 1.0, 2.0, broker="b1")]
    assert "gps is on b1, planned on b0, and 1 more are away" in topics_text(away)


def test_of_many_topics_the_first_are_shown() -> None:
    text = topics_text([topic(f"t{i}", 1.0, 2.0) for i in range(23)])
    assert "and 3 more: --json has all" in text
    assert "t19" in text and "t20" not in text
