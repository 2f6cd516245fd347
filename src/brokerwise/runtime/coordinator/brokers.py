"""The brokers of a fleet, as they are stored, and their states.

Decided here: what state a broker is in after it has started (`state_after_start`) or
ended (`state_after_end`), and which brokers may be given sessions (`candidates`). What
else happens when one comes or goes is in `leases.py`.
"""

from dataclasses import dataclass

from brokerwise.runtime.balancing.placement import Candidate, Point
from brokerwise.runtime.net.errors import NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import Address, BrokerState, Then

ALIVE = (BrokerState.UP, BrokerState.DRAINING, BrokerState.DRAINED)
SERVING = (BrokerState.UP, BrokerState.DRAINING)
GONE = (BrokerState.LOST, BrokerState.STOPPED)
_COLUMNS = "name, url, pid, state, epoch, since, capacity, x, y, then_do, moves_before"


def state_after_start(then: Then | None) -> tuple[BrokerState, Then | None]:
    """The state of a broker that has (re)started, and what is still to be done with it.

    A drain that was not over goes on, but for a restart, which this is.
    """
    if then in (Then.STAY, Then.STOP):
        return BrokerState.DRAINING, then
    return BrokerState.UP, None


def state_after_end(
    state: BrokerState, then: Then | None, graceful: bool
) -> tuple[BrokerState, Then | None]:
    """The state of a broker that has left or is lost, and what is to be done with it
    if it comes back.

    It stays drained if it was to stay so; a stop that was ordered is over, but not if
    it crashed before.
    """
    if then is Then.STOP and (graceful or state is BrokerState.DRAINED):
        return BrokerState.STOPPED, None
    return BrokerState.LOST, None if then is Then.RESTART else then


@dataclass(frozen=True)
class Broker:
    """A broker as it is stored.

    Attributes
    ----------
    since
        When it came into its state, in seconds since 1970; 0 before it ever started.
    capacity
        Messages a period; None if nobody said.
    then
        What a drain that is not over ends with.
    moves_before
        The last move before its drain or stay began: later ones count as attempts.
    """

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
        """True if its process runs, as far as we know."""
        return self.state in ALIVE

    @property
    def serving(self) -> bool:
        """True if sessions may be on it."""
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
    """True if the broker still has the lease that it was given under this epoch."""
    broker = find_broker(sql, name)
    return broker is not None and broker.alive and broker.epoch == epoch


def candidates(sql: Sql, but: str = "") -> list[Candidate]:
    """The brokers that may be given sessions, by name, without the one named `but`."""
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
