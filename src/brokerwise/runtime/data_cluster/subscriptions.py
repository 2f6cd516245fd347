"""Who wants which channel, with which parameters, what they have had, and which broker
serves them, in SQL.

Decided here: whether a broker may still speak (`check_epoch`: only under its newest
epoch), where a subscriber begins, and when users and brokers that have gone are
forgotten. A backend subscription is there once for a channel and parameters, while any
user has it; a user's is a frontend. Whenever a backend subscription comes or goes, the
counter `version` goes up. Calls that change something are part of the caller's
transaction, and the caller has checked the broker's epoch.
"""

import json
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.net.errors import ConflictError
from brokerwise.runtime.process.logs import limited
from brokerwise.runtime.process.state_file import Sql, count_up
from brokerwise.runtime.protocol.data import (
    AcknowledgeRequest,
    BrokerCreation,
    Interest,
    SubscribeAnswer,
    SubscribeRequest,
    Subscription,
    SubscriptionRefusal,
    UnsubscribeRequest,
    UserTopic,
)
from brokerwise.runtime.protocol.limits import KEPT_SECONDS
from brokerwise.runtime.protocol.names import parse_channel_topic

HEARD_SECONDS = 10.0  # at least, between two stored times of hearing from a broker
_FLEET = "fleet"  # the setting: whose brokers these are

log = logging.getLogger(__name__)

# The values of a channel's parameters, in its order; raises BrokerwiseError if there
# is no such channel or a value is not as it must be.
ValuesOf = Callable[[str, Mapping[str, str]], tuple[object, ...]]


@dataclass(frozen=True)
class KnownBroker:
    """`url` is where it listens, http://host:port."""

    name: str
    url: str
    epoch: int


def create_broker(sql: Sql, creation: BrokerCreation, at: float) -> None:
    """Store a broker with its newest epoch. Under a new one it has no users yet: those
    that it served are offline until they subscribe again. Raises
    ConflictError for an epoch that is older than the one known."""
    known = _epoch(sql, creation.broker)
    if known is not None and creation.epoch < known:
        raise _outdated(creation.broker, creation.epoch, known)
    if known is not None and creation.epoch > known:
        put_offline(sql, creation.broker, at)
    if known != creation.epoch:
        log.info("broker %r is there, epoch %d", creation.broker, creation.epoch)
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
        limited(log, "unknown").warning(
            "broker %r speaks and is unknown: refused", broker
        )
        raise ConflictError(f"broker {broker!r} has not created itself: createbroker")
    if epoch != known:
        raise _outdated(broker, epoch, known)


def note_heard(sql: Sql, broker: str, at: float) -> None:
    """The broker lives. Stored at most each HEARD_SECONDS: it costs a write to disk."""
    sql.execute(
        "UPDATE brokers SET heard = ? WHERE name = ? AND heard < ?",
        (at, broker, at - HEARD_SECONDS),
    )


def is_note_due(sql: Sql, broker: str, at: float) -> bool:
    """True if `note_heard` would store something."""
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
    """Forget the brokers that have not been heard for as long as anything is kept.
    The users that they served have been offline since then."""
    silent = sql.execute(
        "SELECT name, heard FROM brokers WHERE heard < ? ORDER BY name",
        (at - KEPT_SECONDS,),
    ).fetchall()
    for name, heard in silent:
        put_offline(sql, name, heard)
        log.warning("broker %r is lost: silent for %.0f s", name, at - heard)
        sql.execute("DELETE FROM brokers WHERE name = ?", (name,))
    return [str(name) for name, _ in silent]


def begin_fleet(sql: Sql, fleet: str, at: float) -> None:
    """The process starts, in the fleet with this digest. While it was away it
    heard from no broker, so every one counts as heard now. Another fleet's brokers are
    forgotten: those with the same names are others."""
    found = sql.execute("SELECT value FROM settings WHERE name = ?", (_FLEET,))
    if found.fetchone() != (fleet,):
        sql.execute(
            "UPDATE frontends SET broker = '', seen = ? WHERE broker != ''", (at,)
        )
        gone = sql.execute("DELETE FROM brokers").rowcount
        if gone:
            log.info("another fleet: %d brokers of before are forgotten", gone)
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
    limited(log, "fenced").warning(
        "broker %r is fenced: epoch %d, its newest is %d", broker, epoch, known
    )
    return ConflictError(
        f"broker {broker!r}: found epoch {epoch}, expected its newest, {known}"
    )


@dataclass(frozen=True)
class Backend:
    """`last` is the seq of its newest result, 0 without any."""

    id: int
    channel: str
    topic: str
    last: int


def subscribe(
    sql: Sql, request: SubscribeRequest, values_of: ValuesOf
) -> SubscribeAnswer:
    """From now on the broker serves these users. What cannot be given is refused,
    one by one, with the reason. A cursor that a user brings is of what has reached
    it; what it has dealt with, where it would begin again, is what it acknowledges."""
    given: list[Subscription] = []
    refused: list[SubscriptionRefusal] = []
    for wanted in request.wanted:
        try:
            backend = _backend(sql, wanted.topic, values_of)
        except BrokerwiseError as cause:
            refused.append(
                SubscriptionRefusal(wanted.user, wanted.topic, cause.message)
            )
            continue
        start = _start(sql, wanted, backend)
        sql.execute(
            "INSERT INTO frontends VALUES (?, ?, ?, ?, 0) ON CONFLICT DO UPDATE SET "
            "broker = excluded.broker, seen = 0, seq = iif(?, excluded.seq, seq)",
            (wanted.user, backend.id, start, request.broker, _begins_anew(wanted)),
        )
        given.append(
            Subscription(wanted.user, wanted.topic, backend.id, start, backend.last)
        )
    return SubscribeAnswer(tuple(given), tuple(refused))


def unsubscribe(sql: Sql, request: UnsubscribeRequest) -> list[int]:
    """Returns the backend subscriptions without users, which it has removed."""
    left: set[int] = set()
    for backend, ended in _ended(sql, request.ended):
        sql.execute(
            "DELETE FROM frontends WHERE user = ? AND subscription = ? AND broker = ?",
            (ended.user, backend.id, request.broker),
        )
        left.add(backend.id)
    return _remove_unwanted(sql, left)


def acknowledge(sql: Sql, request: AcknowledgeRequest, at: float) -> None:
    """Move cursors forward, never back and never past the last result; put users
    offline, and back online those who are served after all. Of those whom another
    broker serves it says nothing."""
    sql.executemany(
        "UPDATE frontends SET seq = min(?, (SELECT last FROM subscriptions "
        "WHERE id = subscription)) "
        "WHERE user = ? AND subscription = ? AND broker = ? AND seq < ?",
        [
            (seen.seq, seen.user, seen.subscription, request.broker, seen.seq)
            for seen in request.seen
        ],
    )
    sql.executemany(
        "UPDATE frontends SET broker = '', seen = ? "
        "WHERE user = ? AND subscription = ? AND broker = ?",
        [
            (at, ended.user, backend.id, request.broker)
            for backend, ended in _ended(sql, request.offline)
        ],
    )
    sql.executemany(
        "INSERT INTO frontends SELECT ?, id, min(?, last), ?, 0 FROM subscriptions "
        "WHERE id = ? ON CONFLICT DO UPDATE SET broker = excluded.broker, seen = 0 "
        "WHERE broker = ''",
        [(s.user, s.seq, request.broker, s.subscription) for s in request.serving],
    )
    note_heard(sql, request.broker, at)


def forget_offline(sql: Sql, at: float) -> list[int]:
    """Forget users who have been offline for longer than anything is kept. Returns the
    backend subscriptions without users, which it has removed."""
    gone = sql.execute(
        "DELETE FROM frontends WHERE broker = '' AND seen < ? RETURNING subscription",
        (at - KEPT_SECONDS,),
    ).fetchall()
    removed = _remove_unwanted(sql, {number for (number,) in gone})
    if gone:
        log.info(
            "subscriptions of users who stayed offline: %d forgotten, %d topics with "
            "them",
            len(gone),
            len(removed),
        )
    return removed


def brokers_of(sql: Sql, numbers: Iterable[int]) -> dict[str, list[int]]:
    """The brokers that serve users of these backend subscriptions, each with theirs,
    in order."""
    found: dict[str, list[int]] = {}
    for number in sorted(set(numbers)):
        brokers = sql.execute(
            "SELECT DISTINCT broker FROM frontends "
            "WHERE subscription = ? AND broker != ''",
            (number,),
        )
        for (broker,) in brokers:
            found.setdefault(broker, []).append(number)
    return found


def undelivered(sql: Sql) -> dict[str, list[int]]:
    """By channel, the backend subscriptions with results that a user whom a broker
    serves has not acknowledged."""
    rows = sql.execute(
        "SELECT DISTINCT s.channel, s.id FROM subscriptions s JOIN frontends f "
        "ON f.subscription = s.id WHERE f.broker != '' AND f.seq < s.last "
        "ORDER BY s.channel, s.id"
    )
    found: dict[str, list[int]] = {}
    for channel, number in rows:
        found.setdefault(channel, []).append(number)
    return found


def find_backend(sql: Sql, topic: str) -> Backend | None:
    row = sql.execute(
        "SELECT id, channel, topic, last FROM subscriptions WHERE topic = ?", (topic,)
    ).fetchone()
    return None if row is None else Backend(*row)


def _backend(sql: Sql, topic: str, values_of: ValuesOf) -> Backend:
    """The one there is, or a new one: its number was never used before."""
    found = find_backend(sql, topic)
    if found is not None:
        return found
    channel, texts = parse_channel_topic(topic)
    values = json.dumps(values_of(channel, texts))
    number, version = count_up(sql, "subscription"), count_up(sql, "version")
    sql.execute(
        "INSERT INTO subscriptions VALUES (?, ?, ?, ?, ?, 0)",
        (number, channel, topic, values, version),
    )
    return Backend(number, channel, topic, 0)


def _begins_anew(wanted: Interest) -> bool:
    return wanted.latest and wanted.cursor is None


def _start(sql: Sql, wanted: Interest, backend: Backend) -> int:
    """Where a user begins. A cursor of another epoch is of a subscription that is
    gone: it says nothing of this one."""
    if wanted.cursor is not None and wanted.cursor[0] == backend.id:
        return min(wanted.cursor[1], backend.last)
    known = sql.execute(
        "SELECT seq FROM frontends WHERE user = ? AND subscription = ?",
        (wanted.user, backend.id),
    ).fetchone()
    if known is None or wanted.latest:
        return backend.last
    return int(known[0])


def _ended(sql: Sql, ended: Iterable[UserTopic]) -> list[tuple[Backend, UserTopic]]:
    """With the backend subscription of each; those that are gone are left out."""
    found = ((find_backend(sql, one.topic), one) for one in ended)
    return [(backend, one) for backend, one in found if backend is not None]


def _remove_unwanted(sql: Sql, numbers: Iterable[int]) -> list[int]:
    """Those of them that no user has, with their results."""
    removed = [n for n in sorted(numbers) if not _is_wanted(sql, n)]
    for number in removed:
        sql.execute("DELETE FROM results WHERE subscription = ?", (number,))
        sql.execute("DELETE FROM subscriptions WHERE id = ?", (number,))
    if removed:
        count_up(sql, "version")
    return removed


def _is_wanted(sql: Sql, number: int) -> bool:
    found = sql.execute(
        "SELECT 1 FROM frontends WHERE subscription = ? LIMIT 1", (number,)
    )
    return found.fetchone() is not None
