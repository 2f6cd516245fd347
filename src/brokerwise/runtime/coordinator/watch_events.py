"""What has happened to a fleet, in sentences: two sights of it in, events out. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from brokerwise.runtime.coordinator.brokers import Broker, BrokerState, Then
from brokerwise.runtime.coordinator.decisions import DecisionState

KEPT_EVENTS = 100


@dataclass(frozen=True)
class Happening:
    """`at` is seconds since 1970, `what` for programs, `text` for people."""

    at: float
    what: str
    text: str


@dataclass(frozen=True)
class DecisionSeen:
    """A decision of the balancer without its moves, which may be many. `at` is when
    it came to its state."""

    number: int
    at: float
    state: DecisionState
    policy: str
    reason: str
    outcome: str


@dataclass(frozen=True)
class Sight:
    """Brokers by name, the newest decisions by number, and whether the balancer decides
    by itself, as they are at one moment."""

    brokers: Mapping[str, Broker]
    decisions: Mapping[int, DecisionSeen]
    automatic: bool


def happenings(before: Sight, after: Sight, now: float) -> list[Happening]:
    """In the order of their times."""
    found = [
        *_of_brokers(before, after),
        *_of_decisions(before, after),
        *_of_mode(before, after, now),
    ]
    return sorted(found, key=lambda one: one.at)


def _of_brokers(before: Sight, after: Sight) -> Iterator[Happening]:
    for name, broker in after.brokers.items():
        was = before.brokers.get(name)
        if was is not None and (was.state, was.epoch) == (broker.state, broker.epoch):
            continue
        told = _broker_text(was, broker)
        if told is not None:
            what, text = told
            yield Happening(broker.since, what, f"Broker {name} {text}.")


def _broker_text(was: Broker | None, broker: Broker) -> tuple[str, str] | None:
    """What has become of it; None of one that is only expected."""
    epoch = 0 if was is None else was.epoch
    match broker.state:
        case BrokerState.UP if not epoch:
            return "broker up", "is up"
        case BrokerState.UP if epoch != broker.epoch:
            if was is not None and was.state is BrokerState.UP:
                return "broker restarted", "was gone, and another process is up for it"
            return "broker up", "is up again"
        case BrokerState.UP:
            return "activated", "takes sessions again: its drain was ended"
        case BrokerState.DRAINING:
            return "drain", f"is being drained{_AFTERWARDS.get(broker.then, '')}"
        case BrokerState.DRAINED:
            return "drained", "is drained"
        case BrokerState.STOPPED:
            return "broker stopped", "has stopped, as it was told to"
        case BrokerState.LOST:
            return "broker lost", "is lost" if broker.epoch else "has not come up"
        case _:
            return None


_AFTERWARDS: Mapping[Then | None, str] = {
    Then.STOP: ", and stops then",
    Then.RESTART: ", and restarts then",
}


def _of_decisions(before: Sight, after: Sight) -> Iterator[Happening]:
    newest = max(before.decisions, default=0)
    for number, decision in after.decisions.items():
        was = before.decisions.get(number)
        is_new = was is None and number > newest
        if is_new or (was is not None and was.state is not decision.state):
            is_note = decision.state is DecisionState.NOTED
            what = "balancer" if is_note else f"decision {decision.state}"
            yield Happening(decision.at, what, _decision_text(decision))


def _decision_text(decision: DecisionSeen) -> str:
    head = f"Decision {decision.number} ({decision.policy})"
    match decision.state:
        case DecisionState.NOTED:
            return f"Balancer: {decision.reason}."
        case DecisionState.PROPOSED:
            return f"{head} waits for approval: {decision.reason}."
        case DecisionState.STARTING:
            return f"{head} is approved and waits for new brokers."
        case DecisionState.RUNNING:
            return f"{head} is carried out: {decision.reason}."
        case DecisionState.DONE:
            return f"{head} is done: {decision.outcome}."
        case DecisionState.FAILED:
            return f"{head} has failed: {decision.outcome}."
        case DecisionState.OUTDATED:
            return f"{head} is out of date: {decision.outcome}."


def _of_mode(before: Sight, after: Sight, now: float) -> Iterator[Happening]:
    if before.automatic is not after.automatic:
        how = "by itself" if after.automatic else "only when asked"
        yield Happening(now, "balancer", f"The balancer decides {how}.")
