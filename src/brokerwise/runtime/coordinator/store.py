"""The coordinator's state: one SQLite file that only it writes."""

import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokerwise.runtime.coordinator.membership import BrokerState
from brokerwise.runtime.coordinator.schema import SCHEMA, SCHEMA_VERSION
from brokerwise.runtime.process.state_file import (
    Sql,
    StateError,
    StateFile,
    connect,
    sync,
    take,
    transaction,
)
from brokerwise.runtime.protocol.seed import Seed

STATE_FILE = "coordinator.sqlite"
GENERATIONS_APART = 1_000  # routes that may be lost with a machine that lost power


def seed_store(path: Path, seed: Seed) -> None:
    """Make a new state file, instead of the one that there may be.

    Epochs and generations go on where those of the former one ended: clients, and
    brokers of other machines, may come over from it with what they know. It appears
    complete or not at all. Raises StateError while a coordinator uses it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with take(path):
        _remove(new)
        _write(new, seed, _former_numbers(path))
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


@dataclass(frozen=True)
class Numbers:
    """The last ones that were given: the next are higher."""

    epoch: int = 0
    generation: int = 0


def new_state(seed: Seed, path: str = ":memory:", former: Numbers | None = None) -> Sql:
    """A connection to a new state, seeded."""
    sql = connect(path)
    sql.executescript(SCHEMA)
    with transaction(sql):
        _fill(sql, seed, former or Numbers())
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


def _former_numbers(path: Path) -> Numbers:
    """Those of the state that is to be replaced; none if it cannot be read."""
    if not path.exists():
        return Numbers()
    sql = connect(str(path))
    try:
        counters = dict(sql.execute("SELECT name, value FROM counters"))
        (last,) = sql.execute("SELECT max(generation) FROM routes").fetchone()
    except sqlite3.DatabaseError:
        return Numbers()
    finally:
        sql.close()
    generation = max(last or 0, counters.get("generation", 0))
    return Numbers(counters.get("epoch", 0), generation + GENERATIONS_APART)


def _write(path: Path, seed: Seed, former: Numbers) -> None:
    sql = new_state(seed, str(path), former)
    sql.close()
    sync(path)


def _fill(sql: Sql, seed: Seed, former: Numbers) -> None:
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
    counters = {
        "epoch": former.epoch,
        "generation": former.generation,  # that the first route of a topic follows
        "turn": 0,
        "losses": 0,
    }
    sql.executemany("INSERT INTO counters VALUES (?, ?)", counters.items())
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
