"""The tables of the coordinator's state. Their version is the file's user_version."""

SCHEMA_VERSION = 3

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
    proposal TEXT,                        -- JSON, NULL if it is a change of mind only
    begun REAL,
    ended REAL,
    outcome TEXT NOT NULL DEFAULT ''
);
CREATE INDEX decisions_by_digest ON decisions (digest);
CREATE INDEX decisions_by_state ON decisions (state);
"""
