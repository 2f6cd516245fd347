"""A scenario of the emergency city as a world that a simulation can run. Pure."""

import numpy as np

from brokerwise.experiments.emergency.city import broker_places
from brokerwise.experiments.emergency.rates import PERIOD_SECONDS, subscription_rates
from brokerwise.experiments.emergency.scenario import (
    Login,
    Logout,
    Scenario,
    Subscribe,
    Unsubscribe,
)
from brokerwise.experiments.emergency.tracks import places_at_login
from brokerwise.runtime.protocol.names import channel_topic
from brokerwise.runtime.simulation.world import SteppedRates, Timeline, World

NAME = "the emergency city"
BROKERS = 5  # as many as Nguyen et al. had


def emergency_world(scenario: Scenario, brokers: int = BROKERS) -> World:
    """Users come, subscribe and leave as the scenario says, and are placed by where
    they first log in; topics bring what the city's channels would send."""
    timeline = _told(scenario)
    rates = subscription_rates(scenario)
    numbers = {topic: number for number, topic in enumerate(rates.topics)}
    order = [numbers[topic] for topic in timeline.topics]
    return timeline.world(
        NAME,
        scenario.settings.seconds,
        broker_places(brokers),
        SteppedRates(rates.times, np.ascontiguousarray(rates.rates[:, order])),
        PERIOD_SECONDS,
    )


def _told(scenario: Scenario) -> Timeline:
    timeline, places = Timeline(), places_at_login(scenario)
    for action in scenario.actions:
        match action:
            case Login(at=at, user=user):
                timeline.login(at, user, places[user])
            case Logout(at=at, user=user):
                timeline.logout(at, user)
            case Subscribe(at=at, user=user, channel=channel, parameters=values):
                timeline.subscribe(at, user, channel_topic(channel, values))
            case Unsubscribe(at=at, user=user, channel=channel, parameters=values):
                timeline.unsubscribe(at, user, channel_topic(channel, values))
            case _:
                pass  # where users go later does not matter to their broker
    return timeline
