"""Brokers come and go: who holds a lease, and what happens when one is given or lost.

Decided here: when a lease is lost (`Leases.lapsed`, asked four times a second by
`Coordinator.sweep`), what a broker is told when it registers (`register`), and what
becomes of the routes, moves and sessions of one that has gone (`lose`). The time of
the last heartbeat is in memory only; all else is stored, in the caller's transaction.
The broker notices for itself: `broker/coordination.py`, and after it was frozen
`broker/process.py`.
"""

import logging

import msgspec

from brokerwise.runtime.coordinator.brokers import (
    GONE,
    all_brokers,
    find_broker,
    set_state,
    state_after_end,
    state_after_start,
    the_broker,
)
from brokerwise.runtime.coordinator.moves import end_moves_of, last_move
from brokerwise.runtime.coordinator.routes import (
    all_routes,
    bring_home,
    drop_broker,
)
from brokerwise.runtime.coordinator.sessions import relocate, relocate_all, sessions_on
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.fleet import (
    BrokerConfiguration,
    BrokerRegistration,
    OverlayPart,
)
from brokerwise.runtime.protocol.limits import HEARTBEAT_SECONDS, LEASE_SECONDS

log = logging.getLogger(__name__)
LATE_SECONDS = 2 * HEARTBEAT_SECONDS  # after which a heartbeat has been missed


class Leases:
    """When each broker was last heard of. No clock: every call is told the time, in
    seconds. A broker that has not been heard of for `lease_seconds` has lapsed.

    `lapsed` must be called about every `sweep_seconds`. If it was not, this process
    was itself frozen, could hear nobody, and everyone gets a new lease.
    """

    def __init__(
        self, lease_seconds: float = LEASE_SECONDS, sweep_seconds: float = 0.25
    ) -> None:
        self._lease = lease_seconds
        self._patience = max(4 * sweep_seconds, lease_seconds / 2)
        self._heard: dict[str, float] = {}
        self._swept: float | None = None

    def renew(self, broker: str, now: float) -> None:
        silent = now - self._heard.get(broker, now)
        if silent > LATE_SECONDS:
            log.warning(
                "broker %r is heard again after %.1f s: it keeps its lease",
                broker,
                silent,
            )
        self._heard[broker] = now

    def end(self, broker: str) -> None:
        """The broker has no lease any more; it never lapses."""
        self._heard.pop(broker, None)

    def lapsed(self, now: float) -> list[str]:
        """The brokers whose lease is over, by name, until it is renewed or ended."""
        if self._swept is not None and now - self._swept > self._patience:
            log.warning(
                "the coordinator stood still for %.1f s: each of %d brokers gets a new"
                " lease",
                now - self._swept,
                len(self._heard),
            )
            self._heard = dict.fromkeys(self._heard, now)
        self._swept = now
        return sorted(b for b, at in self._heard.items() if now - at > self._lease)


def register(
    sql: Sql, registration: BrokerRegistration, now: float
) -> BrokerConfiguration:
    """A broker starts, or starts again. It has a new epoch, carries nothing yet, and
    keeps the sessions that are still its own."""
    name = registration.broker
    before = find_broker(sql, name)
    state, then = state_after_start(before.then if before else None)
    epoch = count_up(sql, "epoch")
    sql.execute(
        "INSERT INTO brokers (name, url, pid, state, epoch, since, then_do,"
        " moves_before) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)"
        " ON CONFLICT (name) DO UPDATE SET url = ?2, pid = ?3, state = ?4, epoch = ?5,"
        " since = ?6, then_do = ?7, moves_before = ?8",
        (
            *(name, registration.url, registration.pid, state, epoch, now, then),
            last_move(sql),
        ),
    )
    drop_broker(sql, name)
    relocated = relocate_all(sql)
    bring_home(sql, name)
    log.info(
        "broker %r %s: epoch %d, %s, %s",
        name,
        "is back" if before is not None and before.state in GONE else "registered",
        epoch,
        registration.url,
        state,
    )
    if relocated:
        log.info("%d sessions of brokers that are gone have a place again", relocated)
    return _configuration(sql, name, epoch)


def lose(sql: Sql, name: str, now: float, *, graceful: bool = False) -> None:
    """A broker has left, or was not heard of for too long: its epoch is given up, it
    carries nothing, and its sessions go to others."""
    broker = the_broker(sql, name)
    set_state(sql, name, *state_after_end(broker.state, broker.then, graceful), now)
    word = "has left" if graceful else "was lost"
    moves = end_moves_of(sql, name, f"broker {name!r} {word}")
    topics = drop_broker(sql, name)
    relocated = relocate(sql, name)
    waiting = sum(map(len, sessions_on(sql, name).values()))
    if not graceful:
        count_up(sql, "losses")
    log.log(
        logging.INFO if graceful else logging.WARNING,
        "broker %r %s: epoch %d ended, %d sessions placed elsewhere, %d wait for a"
        " broker, %d topics lost a broker, %d moves failed",
        *(name, word, broker.epoch, relocated, waiting, topics, moves),
    )


def _configuration(sql: Sql, name: str, epoch: int) -> BrokerConfiguration:
    (overlay,) = sql.execute(
        "SELECT overlay FROM brokers WHERE name = ?", (name,)
    ).fetchone()
    steps, later = _steps(sql, name)
    return BrokerConfiguration(
        epoch=epoch,
        lease_seconds=LEASE_SECONDS,
        heartbeat_seconds=HEARTBEAT_SECONDS,
        routes=all_routes(sql),
        brokers=tuple(b.address for b in all_brokers(sql) if b.alive),
        steps=steps,
        later=later,
        into=dict(sql.execute("SELECT topic, dataset FROM into_datasets").fetchall()),
        overlay=None
        if overlay is None
        else msgspec.json.decode(overlay, type=OverlayPart),
    )


def _steps(sql: Sql, broker: str) -> tuple[dict[str, str], dict[str, str]]:
    """The steps to be started with a broker, and those of topics at home elsewhere."""
    rows = sql.execute(
        "SELECT topic, step, coalesce(home, '') FROM steps"
        " LEFT JOIN topics ON name = topic ORDER BY topic"
    ).fetchall()
    now = {topic: step for topic, step, home in rows if home in ("", broker)}
    return now, {topic: step for topic, step, home in rows if topic not in now}
