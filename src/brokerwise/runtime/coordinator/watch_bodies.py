"""What is answered to those who look closer at a fleet that they watch."""

from pydantic import BaseModel

from brokerwise.runtime.coordinator.brokers import BrokerState


class WatchedTopic(BaseModel):
    """Latencies are null before anything was delivered, `target_ms` without one, `met`
    if nobody can say."""

    topic: str
    received_per_second: float
    p50_ms: float | None
    p90_ms: float | None
    target_ms: float | None
    met: bool | None


class WatchedSession(BaseModel):
    """Of a user who is connected, with so many topics."""

    user: str
    topics: int


class WatchedBroker(BaseModel):
    """`load` and `capacity` are messages a second, capacity null if nobody said;
    `topics` are the 500 busiest, `session_list` the first 500. If the broker cannot be
    asked for them, `problem` says why."""

    name: str
    state: BrokerState
    since: float
    sessions: int
    load: float
    capacity: float | None
    received: int
    delivered: int
    url: str
    pid: int
    epoch: int
    topics: list[WatchedTopic]
    topic_count: int
    session_list: list[WatchedSession]
    session_count: int
    problem: str


class FoundTopic(BaseModel):
    """The brokers that carry it, and the one that the plan chose, if it did; `rate` is
    the planned one, in messages a second."""

    topic: str
    brokers: list[str]
    home: str
    rate: float | None
    target_ms: float | None
    why: str


class FoundSession(BaseModel):
    """`home` is the plan's broker; `topics` are the first 100, and their number is null
    without a plan, as the session then takes whatever its user asks for."""

    broker: str
    home: str
    topics: list[str]
    topic_count: int | None


class FoundUser(BaseModel):
    user: str
    sessions: list[FoundSession]
    why: str


class FindAnswer(BaseModel):
    """`more`: there may be others that fit."""

    topics: list[FoundTopic]
    users: list[FoundUser]
    more: bool
