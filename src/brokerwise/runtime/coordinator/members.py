"""Brokers come and go. All calls belong into a transaction."""

import msgspec

from brokerwise.runtime.coordinator.brokers import (
    all_brokers,
    find_broker,
    set_state,
    the_broker,
)
from brokerwise.runtime.coordinator.carriers import (
    all_routes,
    bring_home,
    take_out,
)
from brokerwise.runtime.coordinator.membership import gone, registered
from brokerwise.runtime.coordinator.moves import end_moves_of, last_move
from brokerwise.runtime.coordinator.seats import reseat, reseat_all
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.control import (
    BrokerConfiguration,
    BrokerRegistration,
    OverlayPart,
)
from brokerwise.runtime.protocol.limits import HEARTBEAT_SECONDS, LEASE_SECONDS


def register(
    sql: Sql, registration: BrokerRegistration, now: float
) -> BrokerConfiguration:
    """A broker starts, or starts again. It has a new epoch, carries nothing yet, and
    keeps the sessions that are still its own."""
    name = registration.broker
    before = find_broker(sql, name)
    state, then = registered(before.then if before else None)
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
    take_out(sql, name)
    reseat_all(sql)
    bring_home(sql, name)
    return _configuration(sql, name, epoch)


def lose(sql: Sql, name: str, now: float, *, graceful: bool = False) -> None:
    """A broker has left, or was not heard of for too long: its epoch is given up, it
    carries nothing, and its sessions go to others."""
    broker = the_broker(sql, name)
    set_state(sql, name, *gone(broker.state, broker.then, graceful), now)
    word = "has left" if graceful else "was lost"
    end_moves_of(sql, name, f"broker {name!r} {word}")
    take_out(sql, name)
    reseat(sql, name)
    if not graceful:
        count_up(sql, "losses")


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
    """Those to be started with a broker, and those of topics at home elsewhere."""
    rows = sql.execute(
        "SELECT topic, step, coalesce(home, '') FROM steps"
        " LEFT JOIN topics ON name = topic ORDER BY topic"
    ).fetchall()
    now = {topic: step for topic, step, home in rows if home in ("", broker)}
    return now, {topic: step for topic, step, home in rows if topic not in now}
