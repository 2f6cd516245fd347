"""The coordinator's state: one SQLite file that only it writes.

Here are its tables, how it is made from a seed, and what it says of the plan that the
fleet runs. What is in the tables belongs to `brokers.py`, `sessions.py`, `routes.py`,
`moves.py` and the balancer's decisions.
"""

import logging
import os
import sqlite3
from dataclasses import dataclass
from pathlib import Path

import msgspec

from brokerwise.runtime.process.state_file import (
    Sql,
    StateError,
    StateFile,
    connect,
    lock_state,
    sync,
    transaction,
)
from brokerwise.runtime.protocol.fleet import BrokerState
from brokerwise.runtime.protocol.seed import Seed

log = logging.getLogger(__name__)
STATE_FILE = "coordinator.sqlite"
GENERATIONS_APART = 1_000  # routes that may be lost with a machine that lost power
SCHEMA_VERSION = 3  # the file's user_version

SCHEMA = """
CREATE TABLE settings (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE counters (
    name TEXT PRIMARY KEY, value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE brokers (
    name TEXT PRIMARY KEY,
    url TEXT NOT NULL DEFAULT '',
    pid INTEGER NOT NULL DEFAULT 0,
    state TEXT NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 0,
    since REAL NOT NULL DEFAULT 0,        -- seconds since 1970
    capacity INTEGER,
    x REAL,
    y REAL,
    overlay TEXT,                         -- JSON
    then_do TEXT,                         -- of a drain that is not over
    moves_before INTEGER NOT NULL DEFAULT 0   -- later ones belong to this drain or stay
) WITHOUT ROWID;
CREATE TABLE users (
    name TEXT PRIMARY KEY, x REAL, y REAL
) WITHOUT ROWID;
CREATE TABLE sessions (
    user TEXT NOT NULL,
    home TEXT NOT NULL,                   -- the plan's broker, '' without a plan
    broker TEXT NOT NULL,
    topics TEXT,                          -- JSON, NULL: whatever the user asks for
    PRIMARY KEY (user, home)
) WITHOUT ROWID;
CREATE INDEX sessions_by_broker ON sessions (broker);
CREATE INDEX sessions_away ON sessions (home) WHERE home <> '' AND broker <> home;
CREATE TABLE topics (
    name TEXT PRIMARY KEY,
    rate INTEGER NOT NULL,
    home TEXT NOT NULL DEFAULT '',        -- its broker, if the plan places topics
    target_ms REAL                        -- of its latency, if the plan has one
) WITHOUT ROWID;
CREATE TABLE steps (
    topic TEXT PRIMARY KEY, step TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE into_datasets (              -- where what comes out of topics is fed
    topic TEXT PRIMARY KEY, dataset TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE routes (
    topic TEXT PRIMARY KEY,
    generation INTEGER NOT NULL,
    feeder TEXT NOT NULL                  -- of its carriers, who feeds datasets
) WITHOUT ROWID;
CREATE TABLE carriers (
    topic TEXT NOT NULL, broker TEXT NOT NULL, PRIMARY KEY (topic, broker)
) WITHOUT ROWID;
CREATE INDEX carriers_by_broker ON carriers (broker);
CREATE TABLE untold (                     -- who does not know of which route yet
    broker TEXT NOT NULL,
    topic TEXT NOT NULL,
    generation INTEGER NOT NULL,
    PRIMARY KEY (broker, topic)
) WITHOUT ROWID;
CREATE TABLE moves (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    user TEXT NOT NULL,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    home TEXT,                            -- NULL: all that the user has at the source
    state TEXT NOT NULL,
    reason TEXT NOT NULL DEFAULT '',
    session TEXT NOT NULL DEFAULT '',     -- its first topic by the plan, if any
    decision INTEGER,                     -- that of the balancer which it belongs to
    ended REAL                            -- seconds since 1970, once that was noticed
);
CREATE INDEX moves_by_state ON moves (state);
CREATE INDEX moves_by_session ON moves (user, source);
CREATE INDEX moves_by_decision ON moves (decision) WHERE decision IS NOT NULL;
CREATE INDEX moves_unnoticed ON moves (id) WHERE ended IS NULL;
CREATE INDEX moves_by_end ON moves (ended) WHERE ended IS NOT NULL;
CREATE TABLE decisions (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    digest TEXT NOT NULL,                 -- '' if there is nothing to approve
    at REAL NOT NULL,
    state TEXT NOT NULL,
    automatic INTEGER NOT NULL,           -- whether nobody asked for it
    policy TEXT NOT NULL,
    reason TEXT NOT NULL,
    proposal TEXT,                        -- JSON, NULL if nothing is to be moved
    begun REAL,
    ended REAL,
    outcome TEXT NOT NULL DEFAULT ''
);
CREATE INDEX decisions_by_digest ON decisions (digest);
CREATE INDEX decisions_by_state ON decisions (state);
"""


def seed_store(path: Path, seed: Seed) -> None:
    """Make a new state file, instead of the one that there may be.

    Epochs and generations go on where those of the former one ended: clients, and
    brokers of other machines, may come over from it with what they know. It appears
    complete or not at all. Raises StateError while a coordinator uses it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(path.name + ".new")
    with lock_state(path):
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
    """What the seed said, by name: kind, plan, digest, placement, ..."""
    (value,) = sql.execute(
        "SELECT value FROM settings WHERE name = ?", (name,)
    ).fetchone()
    return str(value)


def is_planned(sql: Sql) -> bool:
    """True if a plan says which topics there are, and who is served where."""
    return setting(sql, "kind") != ""


def is_overlay(sql: Sql) -> bool:
    return setting(sql, "kind") == "overlay"


def is_colocated(sql: Sql) -> bool:
    """True if the plan places topics, and sessions follow them."""
    return setting(sql, "kind") == "colocate"


def _former_numbers(path: Path) -> Numbers:
    """The numbers of the state that is to be replaced; none if it cannot be read."""
    if not path.exists():
        return Numbers()
    sql = connect(str(path))
    try:
        counters = dict(sql.execute("SELECT name, value FROM counters"))
        (last,) = sql.execute("SELECT max(generation) FROM routes").fetchone()
    except sqlite3.DatabaseError as cause:
        log.warning(
            "the former state %s cannot be read, and is replaced: %s", path, cause
        )
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
