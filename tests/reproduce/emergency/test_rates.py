"""A scenario as a world: against a plain reading of it, action by action."""

from contextlib import closing
from dataclasses import replace
from math import dist
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from tests.reproduce.emergency.fed_state import FedState

from brokerwise.planners.balance.problem import Options
from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    METRES,
    Place,
    broker_places,
    channel_named,
    reports,
    shelters,
)
from brokerwise.reproduce.emergency.judging import Oracle
from brokerwise.reproduce.emergency.rates import (
    PERIOD_SECONDS,
    STEP_SECONDS,
    emergency_world,
    result_bytes,
    subscription_rates,
)
from brokerwise.reproduce.emergency.records import Recorder
from brokerwise.reproduce.emergency.scenario import (
    Login,
    Logout,
    Move,
    Scenario,
    Settings,
    Subscribe,
    Track,
    Unsubscribe,
    generate,
    places_at_login,
)
from brokerwise.runtime.balancing.balancer import BalancerSettings
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.protocol.frames import Message, encode
from brokerwise.runtime.protocol.names import SOURCE, channel_topic, parse_channel_topic
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate

SETTINGS = replace(
    Settings(), users=60, login_seconds=20.0, subscribe_seconds=10.0, shelters=40
).lasting(120.0)
CITY = generate(SETTINGS)
FED_AT = 1_789_000_000_123


def wanted_of(scenario: Scenario) -> dict[str, Subscribe]:
    return {
        channel_topic(one.channel, one.parameters): one
        for one in scenario.actions
        if isinstance(one, Subscribe)
    }


def located(scenario: Scenario, at: float) -> list[dict[str, Any]]:
    found = []
    for user, actions in scenario.of_user().items():
        if any(isinstance(a, Login) and a.at <= at for a in actions):
            place = Track(user, actions).place_at(at)
            found.append({"user": user, "x": place.x, "y": place.y, "at": 1})
    return found


def feed(state: FedState, scenario: Scenario) -> None:
    """Segments 1 shelters; then for each ten seconds what was reported, and where
    everyone is at their end."""
    settings = scenario.settings
    state.feed(1, "shelters", list(shelters(settings.seed, settings.shelters)))
    made = reports(settings.seed, settings.reports, settings.seconds)
    for step in range(1, int(settings.seconds / STEP_SECONDS) + 1):
        end = step * STEP_SECONDS
        new = [r.record(FED_AT) for r in made if end - STEP_SECONDS < r.at <= end]
        state.feed(2 * step, "reports", new)
        state.feed(2 * step + 1, "user_locations", located(scenario, end))


@pytest.fixture(scope="module")
def expected(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[int, int]]:
    """Bytes of each topic's results in each run of its channel, by DuckDB."""
    directory: Path = tmp_path_factory.mktemp("fed")
    state = FedState(directory / "data")
    wanted = dict(enumerate(wanted_of(CITY).items(), start=1))
    with closing(state.store):
        feed(state, CITY)
        for number, (_, one) in wanted.items():
            names = [p.name for p in channel_named(one.channel).parameters]
            values = [one.parameters[name] for name in names]
            state.subscribe(number, one.channel, values, version=1)
        for channel in CHANNELS:
            steps = round(channel.period / STEP_SECONDS)
            for run in range(1, int(SETTINGS.seconds // channel.period) + 1):
                segments = 2 * (run - 1) * steps + 2, 2 * run * steps + 1
                state.run(channel.name, run, segments, version=1)
        recorder = Recorder(directory / "data", directory / "kept")
        recorder.look()
        results = Oracle(recorder.recorded, recorder.kept).results()
    found: dict[str, dict[int, int]] = {}
    for number, (topic, _) in wanted.items():
        runs: dict[int, int] = found.setdefault(topic, {})
        for result in results[number]:
            size = framed(topic, result.text)
            runs[result.run] = runs.get(result.run, 0) + size
    return found


def framed(topic: str, text: str) -> int:
    """On the wire, as a broker writes it."""
    data = msgspec.Raw(text.encode())
    message = Message(topic, SOURCE, 123, 456, data, FED_AT + 0.5)
    return len(frame_text(encode(message)))


def test_results_have_the_sizes_that_duckdb_gives_them(
    expected: dict[str, dict[int, int]],
) -> None:
    found = result_bytes(CITY)
    assert found.keys() == expected.keys() and list(found) == sorted(found)
    for topic, runs in found.items():
        for run, size in enumerate(runs.tolist(), start=1):
            assert size == expected[topic].get(run, 0), (topic, run)
    assert sum(int(runs.sum()) for runs in found.values()) > 100_000


def test_every_channel_brings_something() -> None:
    found = result_bytes(CITY)
    bringing = {parse_channel_topic(t)[0] for t, runs in found.items() if runs.any()}
    assert bringing == {channel.name for channel in CHANNELS}


def test_rates_are_what_came_within_the_last_minute() -> None:
    brought, found = result_bytes(CITY), subscription_rates(CITY)
    assert found.times[-1] == SETTINGS.seconds and found.topics == tuple(brought)
    for number, topic in enumerate(found.topics):
        period = channel_named(parse_channel_topic(topic)[0]).period
        for step, at in enumerate(found.times.tolist()):
            came = sum(
                size
                for run, size in enumerate(brought[topic].tolist(), start=1)
                if at - PERIOD_SECONDS < run * period <= at
            )
            over = min(max(at, STEP_SECONDS), PERIOD_SECONDS)
            assert found.rates[step, number] == came * PERIOD_SECONDS // over


def test_the_same_scenario_has_the_same_rates() -> None:
    again = subscription_rates(generate(SETTINGS))
    assert np.array_equal(again.rates, subscription_rates(CITY).rates)


WORLD_SETTINGS = replace(
    Settings(),
    users=30,
    login_seconds=20.0,
    subscribe_seconds=20.0,
    away=0.5,
    leaving=0.5,
).lasting(120.0)
WORLD_CITY = generate(WORLD_SETTINGS)
UNBALANCED = SimulationOptions("nearest", BalancerSettings(Options("none")))


def nearest(place: Place, brokers: list[Place]) -> int:
    return min(range(len(brokers)), key=lambda n: dist(place, brokers[n]))


def read_until(scenario: Scenario, time: float) -> dict[str, set[str]]:
    """Who is online at a time, and the topics that each has then."""
    online: set[str] = set()
    wanted: dict[str, set[str]] = {}
    for action in scenario.actions:
        if action.at > time:
            break
        mine = wanted.setdefault(action.user, set())
        match action:
            case Login():
                online.add(action.user)
            case Logout():
                online.discard(action.user)
            case Subscribe():
                mine.add(channel_topic(action.channel, action.parameters))
            case Unsubscribe():
                mine.discard(channel_topic(action.channel, action.parameters))
            case Move():
                pass
    return {user: wanted[user] for user in online}


def test_loads_are_those_of_a_plain_reading_of_the_scenario() -> None:
    brokers, places = broker_places(3), places_at_login(WORLD_CITY)
    rates = subscription_rates(WORLD_CITY)
    run = simulate(emergency_world(WORLD_CITY, 3), UNBALANCED)
    assert run.period_seconds == PERIOD_SECONDS
    for time, loads, sessions in zip(run.times, run.loads, run.sessions, strict=True):
        online = read_until(WORLD_CITY, time)
        bytes_of = dict(
            zip(rates.topics, rates.rates[rates.times == time][0].tolist(), strict=True)
        )
        expected, carried = [0] * 3, [set[str](), set[str](), set[str]()]
        there = [0] * 3
        for user, topics in online.items():
            broker = nearest(places[user], brokers)
            there[broker] += 1
            carried[broker] |= topics
            expected[broker] += sum(bytes_of[topic] for topic in topics)
        for broker, topics in enumerate(carried):
            expected[broker] += sum(bytes_of[topic] for topic in topics)
        assert loads.tolist() == expected
        assert sessions.tolist() == there
    assert run.loads[-1].min() > 0


def test_most_of_the_city_is_nearest_to_the_broker_in_its_middle() -> None:
    places = places_at_login(generate(Settings())).values()
    brokers = broker_places(5)
    users = np.bincount([nearest(place, brokers) for place in places], minlength=5)
    assert users.argmax() == 0 and users[0] > 200 and users.min() > 10


@pytest.mark.parametrize("count", [1, 2, 5, 40])
def test_brokers_are_apart_and_in_the_city(count: int) -> None:
    places = broker_places(count)
    assert len(set(places)) == count
    assert all(0 <= x < METRES and 0 <= y < METRES for x, y in places)
    assert places == broker_places(count)


def test_users_are_placed_by_where_they_first_log_in() -> None:
    actions = (
        Move(0.0, "ann", 10.0, 10.0, 0.0),
        Login(1.0, "ann"),
        Move(2.0, "ann", 9_000.0, 9_000.0, 3.0),
        Logout(4.0, "ann"),
        Login(5.0, "ann"),
    )
    assert places_at_login(Scenario(WORLD_SETTINGS, actions)) == {
        "ann": Place(10.0, 10.0)
    }
