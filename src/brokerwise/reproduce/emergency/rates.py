"""What each subscription of a scenario is brought, in bytes over time, and so a
scenario as a world that a simulation can run. Pure.

Channels are read once more here, without Spark and without a fleet: runs happen at each
multiple of a channel's period, users are where their tracks say, and a result has the
size that its frame would have on the wire.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Any

import msgspec
import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    NEAR_METRES,
    SHELTER_METRES,
    SHELTERS_NAMED,
    Place,
    Report,
    broker_places,
    cell_of,
    channel_named,
    distance,
    reports,
    shelters,
)
from brokerwise.reproduce.emergency.scenario import (
    Login,
    Logout,
    Scenario,
    Subscribe,
    Track,
    Unsubscribe,
    places_at_login,
)
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.protocol.frames import Message, encode
from brokerwise.runtime.protocol.names import SOURCE, channel_topic, parse_channel_topic
from brokerwise.runtime.simulation.world import SteppedRates, Timeline, World

_FED_AT = 1_500_000_000_000  # as many digits as milliseconds since 1970 have
_SEQ = _SUBSCRIPTION = 100  # as many digits as most have
Row = dict[str, Any]
Wanted = Mapping[str, str]


def result_bytes(scenario: Scenario) -> dict[str, Int64s]:
    """Of each topic that a user subscribes to, the bytes of its results in runs 1, 2,
    ... of its channel, which happen at as many periods after the beginning.

    They do not depend on who subscribes when. Numbers that only a live run gives (of
    subscriptions, of results) count as having three digits.
    """
    city = _City(scenario)
    wanted = {
        channel_topic(action.channel, action.parameters): action
        for action in scenario.actions
        if isinstance(action, Subscribe)
    }
    return {
        topic: city.brought(topic, action.channel, action.parameters)
        for topic, action in sorted(wanted.items())
    }


class _Run:
    """The reports that are new in a run, as they are asked for."""

    def __init__(self, at: float, new: Sequence[Report]) -> None:
        self.at, self._new = at, new
        self.of_type: dict[str, list[Report]] = defaultdict(list)
        self.in_cell: dict[str, list[Report]] = defaultdict(list)
        for report in new:
            self.of_type[report.type].append(report)
            self.in_cell[cell_of(report.place)].append(report)
        self._places = np.array([report.place for report in new]).reshape(-1, 2)

    def near(self, place: Place | None) -> list[Report]:
        """Those near a place; none of them is near nowhere."""
        if place is None or not self._new:
            return []
        away = np.abs(self._places - np.asarray(place)).max(axis=1)
        return [self._new[i] for i in np.flatnonzero(away <= NEAR_METRES).tolist()]


class _City:
    """All that happens in a scenario, and where everyone is."""

    def __init__(self, scenario: Scenario) -> None:
        self._settings = settings = scenario.settings
        made = reports(settings.seed, settings.reports, settings.seconds)
        self._reports = made
        of_user = scenario.of_user()
        self._tracks = {user: Track(user, done) for user, done in of_user.items()}
        self._logins = {
            user: min(a.at for a in done if isinstance(a, Login))
            for user, done in of_user.items()
            if any(isinstance(a, Login) for a in done)
        }
        self._runs_of: dict[float, list[_Run]] = {}
        self._sizes: dict[tuple[str, str], int] = {}
        self._nearest: dict[str, list[Row]] = {}

    def brought(self, topic: str, channel: str, wanted: Wanted) -> Int64s:
        read = _CHANNELS[channel]
        around = _frame_bytes(topic)
        found = [
            sum(around + size for size in read(self, run, wanted))
            for run in self._runs(channel_named(channel).period)
        ]
        return np.asarray(found, np.int64)

    def place_of(self, user: str, at: float) -> Place | None:
        """Where it was last heard of: nowhere before its first login."""
        if at < self._logins.get(user, at + 1):
            return None
        return self._tracks[user].place_at(at)

    def size(self, channel: str, report: Report, columns: Iterable[str]) -> int:
        """Of a report's row without what depends on who asks."""
        key = channel, report.report
        if key not in self._sizes:
            record = report.record(_FED_AT)
            row: Row = {name: record[name] for name in columns if name in record}
            if "shelters" in columns:
                row["shelters"] = self._shelters_near(report)
            self._sizes[key] = len(msgspec.json.encode(row))
        return self._sizes[key]

    def _runs(self, period: float) -> list[_Run]:
        if period not in self._runs_of:
            self._runs_of[period] = _runs(self._reports, self._settings.seconds, period)
        return self._runs_of[period]

    def _shelters_near(self, report: Report) -> list[Row]:
        if report.report not in self._nearest:
            names, places = self._shelters
            away = places - np.asarray(report.place)
            near = np.abs(away).max(axis=1) <= SHELTER_METRES
            metres = np.floor(np.hypot(away[:, 0], away[:, 1])).astype(np.int64)
            found = sorted((int(metres[i]), names[i]) for i in np.flatnonzero(near))
            self._nearest[report.report] = [
                {"metres": far, "shelter": name} for far, name in found[:SHELTERS_NAMED]
            ]
        return self._nearest[report.report]

    @cached_property
    def _shelters(self) -> tuple[list[str], Any]:
        made = list(shelters(self._settings.seed, self._settings.shelters))
        places = np.array([(s["x"], s["y"]) for s in made], np.float64)
        return [str(s["shelter"]) for s in made], places.reshape(-1, 2)


def _runs(made: Sequence[Report], seconds: float, period: float) -> list[_Run]:
    new: list[list[Report]] = [[] for _ in range(int(seconds // period))]
    for report in made:
        number = max(1, ceil(report.at / period))
        if number <= len(new):
            new[number - 1].append(report)
    return [_Run(number * period, found) for number, found in enumerate(new, start=1)]


def _frame_bytes(topic: str) -> int:
    """What a frame has beside a result; its own length is written in two bytes."""
    data = msgspec.Raw(b'"' + b"x" * 200 + b'"')
    at = float(_FED_AT) + 0.5
    message = Message(topic, SOURCE, _SUBSCRIPTION, _SEQ, data, at)
    return len(frame_text(encode(message))) - len(data)


# The channels, each as the sizes of its rows in a run.


def _by_type(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "severity", "cell", "text", "fed_at")
    for report in run.of_type[wanted["type"]]:
        yield city.size("by_type", report, columns)


def _in_cell(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "type", "severity", "text", "fed_at")
    for report in run.in_cell[wanted["cell"]]:
        yield city.size("in_cell", report, columns)


def _near_user(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "type", "severity", "text", "fed_at")
    place = city.place_of(wanted["user"], run.at)
    for report in run.near(place):
        metres = int(distance(report.place, place or report.place))
        own = len(f',"metres":{metres}')
        yield city.size("near_user", report, columns) + own


def _severe(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "severity", "text", "fed_at")
    for report in run.in_cell[wanted["cell"]]:
        if report.type == wanted["type"] and report.severity >= 3:
            yield city.size("severe", report, columns)


def _type_near_user(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "severity", "cell", "text", "fed_at", "shelters")
    for report in run.near(city.place_of(wanted["user"], run.at)):
        if report.type == wanted["type"]:
            yield city.size("type_near_user", report, columns)


def _cell_shelters(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    columns = ("report", "type", "severity", "fed_at", "shelters")
    for report in run.in_cell[wanted["cell"]]:
        yield city.size("cell_shelters", report, columns)


def _type_summary(city: _City, run: _Run, wanted: Wanted) -> Iterable[int]:
    there: dict[str, list[Report]] = defaultdict(list)
    for report in run.of_type[wanted["type"]]:
        there[cell_of(report.place)].append(report)
    for cell, found in there.items():
        worst = max(report.severity for report in found)
        row = {"cell": cell, "reports": len(found), "worst": worst, "fed_at": _FED_AT}
        yield len(msgspec.json.encode(row))


_CHANNELS: Mapping[str, Callable[[_City, _Run, Wanted], Iterable[int]]] = {
    "by_type": _by_type,
    "in_cell": _in_cell,
    "near_user": _near_user,
    "severe": _severe,
    "type_near_user": _type_near_user,
    "cell_shelters": _cell_shelters,
    "type_summary": _type_summary,
}


# Rates over time


PERIOD_SECONDS = 60
"""What rates are counted over, and how far back they look: as a broker's do."""
STEP_SECONDS = min(channel.period for channel in CHANNELS)
"""Between two changes of rates. All periods are multiples of it."""


@dataclass(frozen=True, eq=False)
class SubscriptionRates:
    """`rates[i, k]`: the bytes that topic k has brought in the minute before
    `times[i]`; scaled up where less than a minute has passed."""

    topics: tuple[str, ...]
    times: Float64s
    rates: Int64s

    def topic_numbers(self) -> dict[str, int]:
        return {topic: number for number, topic in enumerate(self.topics)}


def subscription_rates(scenario: Scenario) -> SubscriptionRates:
    """Of all topics that a scenario's users subscribe to, in order of name."""
    brought = result_bytes(scenario)
    topics = tuple(brought)
    steps = int(scenario.settings.seconds // STEP_SECONDS) + 1
    arrived = np.zeros((steps, len(topics)), np.int64)
    for number, topic in enumerate(topics):
        period = channel_named(parse_channel_topic(topic)[0]).period
        every = round(period / STEP_SECONDS)
        runs = brought[topic]
        arrived[every::every, number][: len(runs)] = runs
    times = np.arange(steps, dtype=np.float64) * STEP_SECONDS
    return SubscriptionRates(topics, times, _by_the_minute(arrived, times))


def _by_the_minute(arrived: Int64s, times: Float64s) -> Int64s:
    """Sums over the minute before each time."""
    back = round(PERIOD_SECONDS / STEP_SECONDS)
    until = np.cumsum(arrived, axis=0)
    before = np.zeros_like(until)
    before[back:] = until[:-back]
    looked = np.clip(times, STEP_SECONDS, PERIOD_SECONDS).astype(np.int64)
    found: Int64s = (until - before) * PERIOD_SECONDS // looked[:, None]
    return found


# The world of a simulation


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
