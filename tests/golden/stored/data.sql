-- The state of a data cluster as version 1 of it is stored. `<now>` is the time of the
-- test, so that nothing of it is too old to be kept.

CREATE TABLE attempts (           -- runs under way
    channel TEXT PRIMARY KEY,
    first INTEGER NOT NULL,       -- the first of their segments
    taken INTEGER NOT NULL,       -- how many segments
    deaths INTEGER NOT NULL       -- that the process has died of it, in a row
) WITHOUT ROWID;
CREATE TABLE batches (            -- what was answered to a feed with a batch id
    dataset TEXT NOT NULL,
    batch TEXT NOT NULL,
    rows INTEGER NOT NULL,
    rejected INTEGER NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (dataset, batch)
) WITHOUT ROWID;
CREATE TABLE brokers (
    name TEXT PRIMARY KEY,
    url TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    heard REAL NOT NULL
) WITHOUT ROWID;
CREATE TABLE channel_datasets (
    channel TEXT NOT NULL, dataset TEXT NOT NULL,
    PRIMARY KEY (channel, dataset)
) WITHOUT ROWID;
CREATE TABLE channels (
    name TEXT PRIMARY KEY,
    sql TEXT NOT NULL,
    parameters TEXT NOT NULL,     -- JSON: [[name, type], ...]
    period REAL NOT NULL,         -- seconds
    created REAL NOT NULL,
    segment INTEGER NOT NULL,     -- the last one that a run has covered
    version INTEGER NOT NULL,     -- of the subscriptions, in the last run
    run INTEGER NOT NULL,         -- the last one
    skipped INTEGER NOT NULL      -- beats
) WITHOUT ROWID;
CREATE TABLE counters (           -- segment, subscription, version
    name TEXT PRIMARY KEY, value INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE datasets (
    name TEXT PRIMARY KEY,
    kind TEXT NOT NULL,           -- append, keyed, static
    columns TEXT NOT NULL,        -- JSON: [[name, type], ...]
    key TEXT NOT NULL DEFAULT '', -- of a keyed one: the column
    created REAL NOT NULL         -- seconds since 1970, as all times here
) WITHOUT ROWID;
CREATE TABLE frontends (          -- a user's subscription
    user TEXT NOT NULL,
    subscription INTEGER NOT NULL,
    seq INTEGER NOT NULL,         -- it has had everything up to this one
    broker TEXT NOT NULL,         -- that serves it; '' while it is offline
    seen REAL NOT NULL,           -- when it went offline
    PRIMARY KEY (user, subscription)
) WITHOUT ROWID;
CREATE TABLE rejected (           -- records kept aside
    id INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    batch TEXT NOT NULL,
    line INTEGER NOT NULL,        -- in what was fed, from 1
    text TEXT NOT NULL,           -- the beginning of it
    reason TEXT NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE results (            -- where the results of a subscription are
    subscription INTEGER NOT NULL,
    first INTEGER NOT NULL,       -- seq
    count INTEGER NOT NULL,
    channel TEXT NOT NULL,
    run INTEGER NOT NULL,
    start INTEGER NOT NULL,       -- byte in the run's file
    length INTEGER NOT NULL,
    PRIMARY KEY (subscription, first)
) WITHOUT ROWID;
CREATE TABLE runs (               -- those that are kept
    channel TEXT NOT NULL,
    run INTEGER NOT NULL,
    first_segment INTEGER NOT NULL, -- new records: from this one
    last_segment INTEGER NOT NULL,  -- to this one
    state_segment INTEGER NOT NULL, -- keyed and static datasets as of this one
    version INTEGER NOT NULL,       -- of the subscriptions
    subscriptions INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    file TEXT NOT NULL,             -- '' without results
    started REAL NOT NULL,
    committed REAL NOT NULL,
    PRIMARY KEY (channel, run)
) WITHOUT ROWID;
CREATE TABLE segments (           -- records that were fed, in the order of all feeds
    number INTEGER PRIMARY KEY,
    dataset TEXT NOT NULL,
    file TEXT NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    at REAL NOT NULL
);
CREATE TABLE set_aside (          -- segments that a channel cannot process
    channel TEXT NOT NULL,
    segment INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at REAL NOT NULL,
    PRIMARY KEY (channel, segment)
) WITHOUT ROWID;
CREATE TABLE settings (
    name TEXT PRIMARY KEY, value TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE subscriptions (      -- backend: one for each channel and parameters
    id INTEGER PRIMARY KEY,
    channel TEXT NOT NULL,
    topic TEXT NOT NULL UNIQUE,
    parameters TEXT NOT NULL,     -- JSON: the values, in the order of the channel's
    version INTEGER NOT NULL,     -- since which it is there
    last INTEGER NOT NULL         -- seq of its last result, 0 without any
);
CREATE INDEX frontends_at ON frontends (broker);
CREATE INDEX frontends_of ON frontends (subscription);
CREATE INDEX rejected_of ON rejected (dataset, id);
CREATE INDEX results_of_run ON results (channel, run);
CREATE INDEX segments_of ON segments (dataset, number);
CREATE INDEX subscriptions_of ON subscriptions (channel);

INSERT INTO settings VALUES ('fleet', 'an earlier one');
INSERT INTO counters VALUES
    ('fed fires', 2), ('last fires', 1700000000000), ('rejected fires', 1),
    ('segment', 1), ('subscription', 1), ('version', 1);
INSERT INTO datasets VALUES
    ('fires', 'append', '[["place","string"],["size","long"]]', '', 1700000000.5),
    ('places', 'keyed', '[["user","string"],["x","double"]]', 'user', 1700000000.5);
INSERT INTO segments VALUES (1, 'fires', 'fires-1.parquet', 2, 756, 1700000000.5);
INSERT INTO batches VALUES ('fires', 'first', 2, 1, 1700000000.5);
INSERT INTO rejected VALUES
    (1, 'fires', 'first', 3, '{"place":5}', 'column ''size'' is missing', 1700000000.5);
INSERT INTO channels VALUES
    ('far', 'SELECT place FROM fires', '[]', 3600.0, 1700000000.5, 1, 0, 0, 1),
    ('near', 'SELECT place, size FROM fires WHERE place = :place',
     '[["place", "string"]]', 3600.0, 1700000000.5, 1, 1, 1, 0);
INSERT INTO channel_datasets VALUES ('far', 'fires'), ('near', 'fires');
INSERT INTO set_aside VALUES ('far', 1, 'it cannot be processed', 1700000000.5);
INSERT INTO subscriptions VALUES
    (1, 'near', 'channel/near?place=here', '["here"]', 1, 2);
INSERT INTO frontends VALUES ('ann', 1, 0, '', <now>), ('cid', 1, 0, '', <now>);
INSERT INTO runs VALUES
    ('near', 1, 1, 1, 1, 1, 1, 2, 58, 'near-1.ndjson', <now>, <now>);
INSERT INTO results VALUES (1, 1, 2, 'near', 1, 0, 58);
PRAGMA user_version = 1;
