"""A scenario as a world: against a plain reading of it, action by action."""

from dataclasses import replace
from math import dist

import numpy as np
import pytest

from brokerwise.experiments.emergency.city import METRES, Place, broker_places
from brokerwise.experiments.emergency.generating import generate
from brokerwise.experiments.emergency.rates import PERIOD_SECONDS, subscription_rates
from brokerwise.experiments.emergency.scenario import (
    Login,
    Logout,
    Move,
    Scenario,
    Settings,
    Subscribe,
    Unsubscribe,
)
from brokerwise.experiments.emergency.simulating import emergency_world
from brokerwise.experiments.emergency.tracks import places_at_login
from brokerwise.planners.balance.problem import Options
from brokerwise.runtime.balancing.settings import Settings as Balancing
from brokerwise.runtime.protocol.names import channel_topic
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate

SETTINGS = replace(
    Settings(),
    users=30,
    login_seconds=20.0,
    subscribe_seconds=20.0,
    away=0.5,
    leaving=0.5,
).lasting(120.0)
CITY = generate(SETTINGS)
UNBALANCED = SimulationOptions("nearest", Balancing(Options("none")))


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
    brokers, places = broker_places(3), places_at_login(CITY)
    rates = subscription_rates(CITY)
    run = simulate(emergency_world(CITY, 3), UNBALANCED)
    assert run.period_seconds == PERIOD_SECONDS
    for time, loads, sessions in zip(run.times, run.loads, run.sessions, strict=True):
        online = read_until(CITY, time)
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
    assert places_at_login(Scenario(SETTINGS, actions)) == {"ann": Place(10.0, 10.0)}
