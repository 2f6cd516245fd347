"""The brokers of the fleet, as they are stored."""

from dataclasses import dataclass

from brokerwise.runtime.balancing.placement import Candidate, Point
from brokerwise.runtime.coordinator.membership import (
    ALIVE,
    SERVING,
    BrokerState,
    Then,
)
from brokerwise.runtime.net.refusals import NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.control import Address

_COLUMNS = "name, url, pid, state, epoch, since, capacity, x, y, then_do, moves_before"


@dataclass(frozen=True)
class Broker:
    name: str
    url: str
    pid: int
    state: BrokerState
    epoch: int
    since: float
    capacity: int | None
    point: Point | None
    then: Then | None
    moves_before: int

    @property
    def alive(self) -> bool:
        """Its process runs, as far as we know."""
        return self.state in ALIVE

    @property
    def serving(self) -> bool:
        """Sessions may be on it."""
        return self.state in SERVING

    @property
    def address(self) -> Address:
        return Address(self.name, self.url)


def all_brokers(sql: Sql) -> list[Broker]:
    """In the order of their names."""
    rows = sql.execute(f"SELECT {_COLUMNS} FROM brokers ORDER BY name")
    return [_broker(*row) for row in rows]


def find_broker(sql: Sql, name: str) -> Broker | None:
    row = sql.execute(
        f"SELECT {_COLUMNS} FROM brokers WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else _broker(*row)


def the_broker(sql: Sql, name: str) -> Broker:
    """Raises NotFoundError if there is none of that name."""
    broker = find_broker(sql, name)
    if broker is None:
        raise NotFoundError(f"there is no broker {name!r}")
    return broker


def is_current(sql: Sql, name: str, epoch: int) -> bool:
    """Whether a broker still has the lease that it was given under this epoch."""
    broker = find_broker(sql, name)
    return broker is not None and broker.alive and broker.epoch == epoch


def candidates(sql: Sql, but: str = "") -> list[Candidate]:
    """Those that may be given sessions, by name."""
    return [
        Candidate(b.name, b.point)
        for b in all_brokers(sql)
        if b.state is BrokerState.UP and b.name != but
    ]


def set_state(
    sql: Sql, name: str, state: BrokerState, then: Then | None, now: float
) -> None:
    sql.execute(
        "UPDATE brokers SET state = ?, then_do = ?, since = ? WHERE name = ?",
        (state, then, now, name),
    )


def _broker(
    name: str,
    url: str,
    pid: int,
    state: str,
    epoch: int,
    since: float,
    capacity: int | None,
    x: float | None,
    y: float | None,
    then: str | None,
    moves_before: int,
) -> Broker:
    return Broker(
        name,
        url,
        pid,
        BrokerState(state),
        epoch,
        since,
        capacity,
        None if x is None or y is None else (x, y),
        None if then is None else Then(then),
        moves_before,
    )
