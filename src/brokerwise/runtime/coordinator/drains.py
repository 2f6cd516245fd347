"""Emptying brokers, and bringing planned sessions home. In a transaction each.

Decided here: when the sessions of a broker are asked to leave it, when it is empty
enough to be called drained, when it is to stop, and when a session that is away from
home is asked to come back. What there is to do is read off the stored state, so it
goes on after a restart of the coordinator.
"""

import logging

from brokerwise.runtime.coordinator.brokers import (
    Broker,
    all_brokers,
    candidates,
    set_state,
    the_broker,
)
from brokerwise.runtime.coordinator.moves import (
    attempts,
    end_decided_from,
    end_requests_from,
    end_requests_to,
    is_awaited,
    is_moving,
    last_move,
    request_move,
)
from brokerwise.runtime.coordinator.routes import hand_over
from brokerwise.runtime.coordinator.sessions import (
    broker_chooser,
    relocate_all,
    sessions_on,
)
from brokerwise.runtime.coordinator.store import is_colocated, is_overlay
from brokerwise.runtime.net.errors import ConflictError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import BrokerState, Then

log = logging.getLogger(__name__)
ATTEMPTS = 2  # a user that declined is asked again, once


def refuse_overlay(sql: Sql) -> None:
    """Refuse to move sessions of an overlay."""
    if is_overlay(sql):
        raise ConflictError(
            "an overlay plan fixes which broker serves which user: "
            "sessions cannot be moved"
        )


def refuse_fixed(sql: Sql) -> None:
    """Refuse to balance what a plan has fixed."""
    refuse_overlay(sql)
    if is_colocated(sql):
        raise ConflictError(
            "a co-location plan fixes which broker carries which topic: sessions "
            "cannot be balanced",
            hint="Plan again: brokerwise colocate --from PLAN --observed DATA",
        )


def begin_drain(sql: Sql, name: str, then: Then, now: float) -> int:
    """Place nothing on a broker any more, and ask its sessions to move; returns how
    many users have to. Again, while it is draining, it changes what comes after."""
    refuse_overlay(sql)
    broker = the_broker(sql, name)
    if not broker.alive:
        raise ConflictError(f"broker {name!r} is not up: there is nothing to drain")
    sessions = sessions_on(sql, name)
    if sessions and not candidates(sql, but=name):
        raise ConflictError(
            f"no other broker is up that could take the sessions of {name!r}"
        )
    if broker.state is BrokerState.UP:
        _forget_attempts(sql, name)
        end_requests_to(sql, name, f"broker {name!r} is being drained")
        end_decided_from(sql, name, f"broker {name!r} is being drained")
    set_state(sql, name, BrokerState.DRAINING, then, now)
    _ask_to_leave(sql, the_broker(sql, name))
    log.info("drain of broker %r begun: %d users, then %s", name, len(sessions), then)
    return len(sessions)


def activate(sql: Sql, name: str, now: float) -> None:
    """End a drain: sessions may be placed there again. Those that agreed to go still
    go."""
    broker = the_broker(sql, name)
    if not broker.alive:
        raise ConflictError(f"broker {name!r} is not up")
    if broker.state is BrokerState.UP:
        return
    end_requests_from(sql, name, "the drain was ended")
    set_state(sql, name, BrokerState.UP, None, now)
    relocate_all(sql)  # of brokers that were lost while nobody else could take over
    _forget_attempts(sql, name)
    log.info("drain of broker %r ended by an operator: it is up again", name)


def advance(sql: Sql, now: float) -> None:
    """Do what is next: ask sessions to leave brokers that drain, call a broker drained
    that nobody is leaving any more, ask planned sessions to come home."""
    for broker in all_brokers(sql):
        if broker.state is BrokerState.DRAINING:
            _advance_drain(sql, broker, now)
    _ask_to_come_home(sql)


def to_stop(sql: Sql) -> list[Broker]:
    """The brokers that are drained and shall stop, or restart."""
    return [
        broker
        for broker in all_brokers(sql)
        if broker.state is BrokerState.DRAINED
        and broker.then in (Then.STOP, Then.RESTART)
    ]


def _advance_drain(sql: Sql, broker: Broker, now: float) -> None:
    """A session that had agreed to come before the drain began still comes, and is
    asked to leave then."""
    if is_moving(sql, broker.name) or is_awaited(sql, broker.name):
        return
    if _ask_to_leave(sql, broker):
        return
    staying = len(sessions_on(sql, broker.name))
    if not staying:
        hand_over(sql, broker.name)
    # Those that would not go keep being served until the broker stops: then they are
    # placed elsewhere. If it does not stop, they stay.
    set_state(sql, broker.name, BrokerState.DRAINED, broker.then, now)
    log.info(
        "drain of broker %r done: %d users stayed, then %s",
        *(broker.name, staying, broker.then),
    )


def _ask_to_leave(sql: Sql, broker: Broker) -> bool:
    """Request the moves that are due; True if there is anything to wait for."""
    choose = None
    for user, sessions in sessions_on(sql, broker.name).items():
        tried = attempts(sql, user, broker.name, broker.moves_before)
        if tried >= ATTEMPTS or is_moving(sql, broker.name, user):
            continue
        if not candidates(sql, but=broker.name):
            return True
        choose = choose or broker_chooser(sql)
        request_move(sql, user, broker.name, choose(broker.name, sessions))
    return is_moving(sql, broker.name)


def _ask_to_come_home(sql: Sql) -> None:
    """Of the sessions that a user has on one broker, one after the other."""
    if is_overlay(sql):
        return
    rows = sql.execute(
        "SELECT user, home, s.broker, b.moves_before FROM sessions AS s"
        " JOIN brokers AS b ON b.name = home"
        " WHERE home <> '' AND s.broker <> home AND b.state = 'up'"
        " AND NOT EXISTS (SELECT 1 FROM moves AS m WHERE m.user = s.user"
        " AND m.source = s.broker AND m.state IN ('requested', 'accepted'))"
    ).fetchall()
    asked: set[tuple[str, str]] = set()
    for user, home, source, before in rows:
        tried = attempts(sql, user, source, before, home)
        if (user, source) not in asked and tried < ATTEMPTS:
            asked.add((user, source))
            request_move(sql, user, source, home, home)


def _forget_attempts(sql: Sql, name: str) -> None:
    sql.execute(
        "UPDATE brokers SET moves_before = ? WHERE name = ?", (last_move(sql), name)
    )
