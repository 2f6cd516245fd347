"""The coordinator's state: one SQLite file that only it writes."""

import os
from pathlib import Path

import msgspec

from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.schema import SCHEMA, SCHEMA_VERSION
from brokerwise.runtime.seed import Seed
from brokerwise.runtime.service.state_file import (
    Sql,
    StateError,
    StateFile,
    connect,
    sync,
    take,
    transaction,
)

STATE_FILE = "coordinator.sqlite"


def seed_store(path: Path, seed: Seed) -> None:
    """Make a new state file, instead of the one that there may be.

    It appears complete or not at all. Raises StateError while a coordinator uses it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with take(path):
        _remove(new)
        _write(new, seed)
        # A log that a killed coordinator left belongs to the file that goes now.
        for suffix in ("-wal", "-shm"):
            path.with_name(path.name + suffix).unlink(missing_ok=True)
        os.replace(new, path)


class Store(StateFile):
    """The state of a coordinator, which has been seeded."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            raise StateError(f"there is no coordinator state at {path}")
        super().__init__(path, SCHEMA_VERSION, synchronous="NORMAL")


def new_state(seed: Seed, path: str = ":memory:") -> Sql:
    """A connection to a new state, seeded."""
    sql = connect(path)
    sql.executescript(SCHEMA)
    with transaction(sql):
        _fill(sql, seed)
        sql.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    return sql


def setting(sql: Sql, name: str) -> str:
    (value,) = sql.execute(
        "SELECT value FROM settings WHERE name = ?", (name,)
    ).fetchone()
    return str(value)


def is_planned(sql: Sql) -> bool:
    """Whether a plan says which topics there are, and who is served where."""
    return setting(sql, "kind") != ""


def is_overlay(sql: Sql) -> bool:
    return setting(sql, "kind") == "overlay"


def is_colocated(sql: Sql) -> bool:
    """Whether the plan places topics, and sessions follow them."""
    return setting(sql, "kind") == "colocate"


def _write(path: Path, seed: Seed) -> None:
    sql = new_state(seed, str(path))
    sql.close()
    sync(path)


def _fill(sql: Sql, seed: Seed) -> None:
    axes = next((part.axes for part in seed.overlay.values()), ())
    settings = {
        "kind": seed.kind,
        "plan": seed.plan,
        "digest": seed.digest,
        "placement": seed.placement,
        "period_seconds": str(seed.period_seconds),
        "axes": msgspec.json.encode(axes).decode(),
        "balance": "{}",
    }
    sql.executemany("INSERT INTO settings VALUES (?, ?)", settings.items())
    sql.executemany(
        "INSERT INTO counters VALUES (?, 0)", [("epoch",), ("turn",), ("losses",)]
    )
    sql.executemany(
        "INSERT INTO brokers (name, state, capacity, x, y, overlay)"
        " VALUES (?, ?, ?, ?, ?, ?)",
        [
            (b.name, BrokerState.EXPECTED, b.capacity, b.x, b.y, _part(seed, b.name))
            for b in seed.brokers
        ],
    )
    sql.executemany(
        "INSERT INTO sessions VALUES (?, ?, ?, ?)",
        [
            (s.user, s.broker, s.broker, msgspec.json.encode(s.topics).decode())
            for s in seed.sessions
        ],
    )
    sql.executemany(
        "INSERT INTO topics VALUES (?, ?, ?, ?)",
        [
            (name, rate, seed.homes.get(name, ""), seed.targets.get(name))
            for name, rate in seed.rates.items()
        ],
    )
    sql.executemany("INSERT INTO steps VALUES (?, ?)", seed.steps.items())
    sql.executemany("INSERT INTO into_datasets VALUES (?, ?)", seed.into.items())


def _part(seed: Seed, broker: str) -> str | None:
    part = seed.overlay.get(broker)
    return None if part is None else msgspec.json.encode(part).decode()


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
