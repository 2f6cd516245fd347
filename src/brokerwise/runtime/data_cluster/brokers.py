"""Which brokers there are, and under which epoch each may speak. Calls that change
something are part of the caller's transaction."""

from dataclasses import dataclass

from brokerwise.runtime.net.refusals import ConflictError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.data import BrokerCreation
from brokerwise.runtime.protocol.limits import KEPT_SECONDS

HEARD_SECONDS = 10.0  # that a broker speaks is stored no more often than this
_FLEET = "fleet"  # the setting: whose brokers these are


@dataclass(frozen=True)
class KnownBroker:
    """`url` is where it listens, http://host:port."""

    name: str
    url: str
    epoch: int


def create_broker(sql: Sql, creation: BrokerCreation, at: float) -> None:
    """A broker is there, under its newest epoch. Under a new one it serves nobody
    yet: those whom it served are offline until they subscribe again. Raises
    ConflictError for an epoch that is older than the one known."""
    known = _epoch(sql, creation.broker)
    if known is not None and creation.epoch < known:
        raise _outdated(creation.broker, creation.epoch, known)
    if known is not None and creation.epoch > known:
        put_offline(sql, creation.broker, at)
    sql.execute(
        "INSERT INTO brokers VALUES (?, ?, ?, ?) ON CONFLICT (name) DO UPDATE SET "
        "url = excluded.url, epoch = excluded.epoch, heard = excluded.heard",
        (creation.broker, creation.url, creation.epoch, at),
    )


def check_epoch(sql: Sql, broker: str, epoch: int) -> None:
    """Raises ConflictError unless this is the broker's epoch: one that was frozen
    and has been replaced must change nothing when it wakes."""
    known = _epoch(sql, broker)
    if known is None:
        raise ConflictError(f"broker {broker!r} has not created itself: createbroker")
    if epoch != known:
        raise _outdated(broker, epoch, known)


def note_heard(sql: Sql, broker: str, at: float) -> None:
    """The broker lives. Stored only now and then: each time costs a write to disk."""
    sql.execute(
        "UPDATE brokers SET heard = ? WHERE name = ? AND heard < ?",
        (at, broker, at - HEARD_SECONDS),
    )


def is_note_due(sql: Sql, broker: str, at: float) -> bool:
    """Whether `note_heard` would store something."""
    found = sql.execute(
        "SELECT 1 FROM brokers WHERE name = ? AND heard < ?",
        (broker, at - HEARD_SECONDS),
    )
    return found.fetchone() is not None


def put_offline(sql: Sql, broker: str, at: float) -> None:
    """All whom the broker served are offline since `at`."""
    sql.execute(
        "UPDATE frontends SET broker = '', seen = ? WHERE broker = ?", (at, broker)
    )


def forget_silent(sql: Sql, at: float) -> list[str]:
    """The brokers that have not been heard for as long as anything is kept. Those
    whom they served have been offline for so long."""
    silent = sql.execute(
        "SELECT name, heard FROM brokers WHERE heard < ? ORDER BY name",
        (at - KEPT_SECONDS,),
    ).fetchall()
    for name, heard in silent:
        put_offline(sql, name, heard)
        sql.execute("DELETE FROM brokers WHERE name = ?", (name,))
    return [str(name) for name, _ in silent]


def begin(sql: Sql, fleet: str, at: float) -> None:
    """The process starts, in the fleet with this digest. While it was away it could
    hear nobody, so every broker counts as heard now. Another fleet's brokers are
    forgotten: those with the same names are others."""
    found = sql.execute("SELECT value FROM settings WHERE name = ?", (_FLEET,))
    if found.fetchone() != (fleet,):
        sql.execute(
            "UPDATE frontends SET broker = '', seen = ? WHERE broker != ''", (at,)
        )
        sql.execute("DELETE FROM brokers")
        sql.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (_FLEET, fleet))
    sql.execute("UPDATE brokers SET heard = ?", (at,))


def find_broker(sql: Sql, name: str) -> KnownBroker | None:
    row = sql.execute(
        "SELECT name, url, epoch FROM brokers WHERE name = ?", (name,)
    ).fetchone()
    return None if row is None else KnownBroker(*row)


def _epoch(sql: Sql, broker: str) -> int | None:
    found = find_broker(sql, broker)
    return None if found is None else found.epoch


def _outdated(broker: str, epoch: int, known: int) -> ConflictError:
    return ConflictError(
        f"broker {broker!r}: found epoch {epoch}, expected its newest, {known}"
    )
