"""examples/emergency shows what is defined here, and nothing else."""

import gzip
from collections import Counter
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from brokerwise.model.errors import InputError
from brokerwise.reproduce.emergency.city import CHANNELS, Place, distance
from brokerwise.reproduce.emergency.scenario import (
    SCENARIO,
    Action,
    Login,
    Logout,
    Move,
    Scenario,
    Settings,
    Subscribe,
    Track,
    Unsubscribe,
    generate,
    read_scenario,
    texts,
    write_scenario,
)
from brokerwise.runtime.protocol.names import channel_topic

WHOLE = generate(Settings())
SMALL = replace(Settings(), users=12).lasting(60.0)


def subscriptions(scenario: Scenario) -> list[Subscribe]:
    return [action for action in scenario.actions if isinstance(action, Subscribe)]


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_there_are_about_2200_frontend_and_600_backend_subscriptions(seed: int) -> None:
    wanted = subscriptions(generate(Settings(seed=seed)))
    topics = {channel_topic(one.channel, one.parameters) for one in wanted}
    assert 2_000 <= len(wanted) <= 2_400
    assert 550 <= len(topics) <= 680


def test_everyone_has_1_to_5_channels_and_1_to_3_subscriptions_of_each() -> None:
    each = Counter((one.user, one.channel) for one in subscriptions(WHOLE))
    channels = Counter(user for user, _ in each)
    assert set(each.values()) == {1, 2, 3}
    assert len(channels) == 400
    assert set(channels.values()) == {1, 2, 3, 4, 5}


def test_parameters_are_those_of_the_channel() -> None:
    names = {c.name: {p.name for p in c.parameters} for c in CHANNELS}
    assert {one.channel for one in subscriptions(WHOLE)} == set(names)
    for one in subscriptions(WHOLE):
        assert one.parameters.keys() == names[one.channel]


def test_all_log_in_first_and_then_subscribe() -> None:
    for actions in WHOLE.of_user().values():
        logins = [a.at for a in actions if isinstance(a, Login)]
        wanted = [a.at for a in actions if isinstance(a, Subscribe)]
        assert 0 <= logins[0] <= 240 <= min(wanted) <= max(wanted) <= 480


def test_some_go_away_and_come_back_and_some_give_up_what_they_had() -> None:
    back = late = given_up = 0
    for actions in WHOLE.of_user().values():
        had = [(a.channel, a.parameters) for a in actions if isinstance(a, Subscribe)]
        for before, after in pairwise(actions):
            assert before.at <= after.at
        for action in actions:
            if isinstance(action, Logout):
                returns = [a for a in actions if isinstance(a, Login)][1]
                assert 480 <= action.at < returns.at < 1_800
                back, late = back + 1, late + returns.latest
            if isinstance(action, Unsubscribe):
                assert (action.channel, action.parameters) in had
                assert action.at >= 480
                given_up += 1
    assert 20 <= back <= 60 and 0 < late < back
    assert 20 <= given_up <= 60


def test_people_move_at_most_as_fast_as_a_car() -> None:
    actions = WHOLE.of_user()["u000"]
    track = Track("u000", actions)
    places = [track.place_at(second) for second in range(600)]
    steps = [distance(a, b) for a, b in pairwise(places)]
    assert max(steps) <= 12.0 + 1.5  # half metres, and times of a tenth of a second
    assert (
        distance(places[0], places[300]) > 10 or distance(places[0], places[599]) > 10
    )


def test_a_shorter_one_has_as_many_reports_a_second_and_time_to_settle() -> None:
    assert SMALL.reports == 333
    assert (SMALL.login_seconds, SMALL.subscribe_seconds) == (15.0, 15.0)
    assert Settings().lasting(1_800.0) == Settings()


def test_the_same_settings_make_the_same_scenario() -> None:
    assert generate(SMALL) == generate(SMALL)
    assert generate(replace(SMALL, seed=8)).actions != generate(SMALL).actions


@pytest.mark.parametrize("name", ["a.ndjson", "a.ndjson.gz"])
def test_a_file_holds_all_of_it_and_is_the_same_each_time(
    name: str, tmp_path: Path
) -> None:
    scenario = generate(SMALL)
    write_scenario(scenario, tmp_path / name)
    content = (tmp_path / name).read_bytes()
    assert read_scenario(tmp_path / name) == scenario
    write_scenario(scenario, tmp_path / name)
    assert (tmp_path / name).read_bytes() == content


BAD = {
    "line 1": ("{}", "line 1: Object missing required field `format`"),
    "another format": (
        '{"format": 2, "settings": {}}',
        "has format 2, expected 1",
    ),
    "bad settings": (
        '{"format": 1, "settings": {"users": 0}}',
        "line 1: users: found 0, expected more than 0",
    ),
    "an unknown action": (
        '{"format": 1, "settings": {}}\n{"do": "fly", "at": 1, "user": "u"}',
        "line 2: Invalid value 'fly' - at `$.do`",
    ),
    "no JSON": (
        '{"format": 1, "settings": {}}\n{"do": "login", "at": 1, "user": "u"}\nx',
        "line 3: ",
    ),
    "out of order": (
        '{"format": 1, "settings": {}}\n{"do": "logout", "at": 2, "user": "u"}\n'
        '{"do": "logout", "at": 1, "user": "u"}\n',
        "line 3: found time 1 after 2",
    ),
}


@pytest.mark.parametrize(("content", "told"), BAD.values(), ids=BAD.keys())
def test_a_bad_file_is_refused_where_it_is_bad(
    content: str, told: str, tmp_path: Path
) -> None:
    path = tmp_path / "bad.ndjson"
    path.write_text(content)
    with pytest.raises(InputError) as refused:
        read_scenario(path)
    assert told in refused.value.message


def test_a_file_that_is_no_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bad.ndjson.gz"
    path.write_bytes(b"plain")
    with pytest.raises(InputError, match="cannot read the scenario"):
        read_scenario(path)
    path.write_bytes(gzip.compress(b"x" * 100_000)[:50])
    with pytest.raises(InputError, match="cannot read the scenario"):
        read_scenario(path)


def test_too_little_time_is_refused() -> None:
    with pytest.raises(InputError, match=r"100 s, but logins and .* take 480"):
        Settings(seconds=100.0)


THERE_AND_ON: list[Action] = [
    Move(0.0, "u", 100.0, 0.0, 0.0),
    Login(1.0, "u"),
    Move(10.0, "u", 200.0, 0.0, 20.0),
    Move(30.0, "u", 200.0, 80.0, 38.0),
    Move(34.0, "u", 0.0, 40.0, 54.0),  # it turns around on the way
]


@pytest.mark.parametrize(
    ("at", "place"),
    [
        (-1.0, (100.0, 0.0)),
        (0.0, (100.0, 0.0)),
        (10.0, (100.0, 0.0)),
        (15.0, (150.0, 0.0)),
        (20.0, (200.0, 0.0)),
        (29.0, (200.0, 0.0)),
        (32.0, (200.0, 20.0)),
        (34.0, (200.0, 40.0)),
        (44.0, (100.0, 40.0)),
        (54.0, (0.0, 40.0)),
        (1e6, (0.0, 40.0)),
    ],
)
def test_a_user_is_on_the_way_or_where_it_went(
    at: float, place: tuple[float, float]
) -> None:
    assert Track("u", THERE_AND_ON).place_at(at) == Place(*place)


@pytest.mark.parametrize("actions", [[], THERE_AND_ON[2:]])
def test_a_user_must_begin_somewhere(actions: list[Action]) -> None:
    with pytest.raises(InputError, match="'u': found no place to begin"):
        Track("u", actions)


EXAMPLE = Path(__file__).parents[3] / "examples" / "emergency"


def test_the_files_of_the_example_are_those_of_the_definitions() -> None:
    shown = {
        str(path.relative_to(EXAMPLE)): path.read_text()
        for pattern in ("channels/*", "datasets/*", "*.ndjson")
        for path in EXAMPLE.glob(pattern)
    }
    assert shown == texts()


def test_the_bundled_scenario_is_the_one_that_is_generated() -> None:
    assert read_scenario(EXAMPLE / SCENARIO) == generate(Settings())
