"""What operators ask: how the fleet is, where a topic or a user is, and why there.

Read from the stored state and the brokers' last heartbeats; nothing is decided here.
`fleet_status` and `metrics` are the fleet at a glance, `find` looks for names, and
`Reasons` says why a topic or a session is where it is.
"""

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import msgspec

from brokerwise.runtime.coordinator.balance.proposals import read_decision
from brokerwise.runtime.coordinator.brokers import Broker, all_brokers
from brokerwise.runtime.coordinator.moves import (
    KEPT_MOVES,
    Move,
    count_moves,
    last_done,
    last_move,
    moves_under_way,
)
from brokerwise.runtime.coordinator.routes import stored_route
from brokerwise.runtime.coordinator.sessions import Session, sessions_of
from brokerwise.runtime.coordinator.store import is_planned, setting
from brokerwise.runtime.net.errors import NotFoundError
from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import (
    Axis,
    BrokerState,
    BrokerStatus,
    FleetStatus,
    Heartbeat,
    MoveStatus,
    TopicPlan,
)
from brokerwise.runtime.protocol.watch import (
    SearchResult,
    SessionMatch,
    TopicMatch,
    UserMatch,
)

MOST_FOUND = 20  # topics, and users
MOST_TOPICS = 100  # of a session
SCANNED = 100_000  # names that are looked through for a text inside of them
_LAST_LETTER = chr(0x10FFFF)

Reports = Mapping[str, Heartbeat]


def fleet_status(sql: Sql, reports: Reports, balancer: str) -> FleetStatus:
    return FleetStatus(
        brokers=tuple(_broker_status(b, reports) for b in all_brokers(sql)),
        moves=count_moves(sql),
        kind=setting(sql, "kind"),
        plan=setting(sql, "plan"),
        digest=setting(sql, "digest"),
        placement=setting(sql, "placement"),
        period_seconds=int(setting(sql, "period_seconds")),
        balancer=balancer,
    )


def move_status(move: Move) -> MoveStatus:
    return MoveStatus(
        id=move.id,
        user=move.user,
        source=move.source,
        target=move.target,
        state=move.state,
        reason=move.reason,
    )


def shown_state(broker: Broker) -> BrokerState:
    """A broker that has not come yet is not there, like one that has gone."""
    expected = broker.state is BrokerState.EXPECTED
    return BrokerState.LOST if expected else broker.state


def _broker_status(broker: Broker, reports: Reports) -> BrokerStatus:
    nothing = Heartbeat(broker.name, broker.epoch, 0, 0, 0, 0, 0.0)
    report = reports.get(broker.name, nothing)
    return BrokerStatus(
        broker=broker.name,
        url=broker.url,
        state=shown_state(broker),
        epoch=broker.epoch,
        sessions=report.sessions,
        topics=report.topics,
        received=report.received,
        delivered=report.delivered,
        load_per_second=report.load_per_second,
        capacity=broker.capacity,
        pid=broker.pid,
        since=broker.since,
    )


def axes(sql: Sql) -> tuple[Axis, ...]:
    """How an overlay's content is cut into sub-channels; none without an overlay."""
    return msgspec.json.decode(setting(sql, "axes"), type=tuple[Axis, ...])


def topic_plan(sql: Sql) -> TopicPlan:
    """The planned rate of each topic, in messages a period, 0 without a plan; homes and
    targets of the topics that have them."""
    query = "SELECT topic, 0 FROM routes ORDER BY topic"
    if is_planned(sql):
        query = "SELECT name, rate FROM topics ORDER BY name"
    homes = sql.execute("SELECT name, home FROM topics WHERE home <> '' ORDER BY name")
    targets = sql.execute(
        "SELECT name, target_ms FROM topics WHERE target_ms IS NOT NULL ORDER BY name"
    )
    return TopicPlan(dict(sql.execute(query)), dict(homes), dict(targets))


def metrics(sql: Sql, reports: Reports) -> str:
    """In the text format of Prometheus."""
    states = [shown_state(b) for b in all_brokers(sql)]
    lines = _family("brokers", "gauge", "Brokers by state.")
    for state in BrokerState:
        if state is not BrokerState.EXPECTED:
            lines.append(_sample("brokers", states.count(state), state=state))
    lines += _family("moves", "gauge", "Moves that are remembered, by state.")
    for name, count in count_moves(sql).items():
        lines.append(_sample("moves", count, state=name))
    for name, kind, text, query in _COUNTED:
        (count,) = sql.execute(query).fetchone()
        lines += [*_family(name, kind, text), _sample(name, count)]
    lines += _family("broker_load", "gauge", "Messages a second, in and out.")
    for broker, report in sorted(reports.items()):
        lines.append(_sample("broker_load", report.load_per_second, broker=broker))
    return "\n".join(lines) + "\n"


_COUNTED = (
    (
        *("sessions", "gauge", "Sessions that have a place."),
        "SELECT count(*) FROM sessions",
    ),
    (
        *("topics_carried", "gauge", "Topics that a broker carries."),
        "SELECT count(DISTINCT topic) FROM carriers",
    ),
    (
        *("routes_untold", "gauge", "Routes that a broker has not heard of yet."),
        "SELECT count(*) FROM untold",
    ),
    (
        *("brokers_lost_total", "counter", "Leases that lapsed."),
        "SELECT value FROM counters WHERE name = 'losses'",
    ),
)


def _family(name: str, kind: str, text: str) -> list[str]:
    full = f"brokerwise_{name}"
    return [f"# HELP {full} {text}", f"# TYPE {full} {kind}"]


def _sample(name: str, value: float, **labels: str) -> str:
    inner = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels.items())
    return f"brokerwise_{name}{{{inner}}} {value}" if inner else _bare(name, value)


def _bare(name: str, value: float) -> str:
    return f"brokerwise_{name} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def find(sql: Sql, text: str) -> SearchResult:
    """Topics and users: those that are called so first, then those that begin so, then
    those that have it inside; large or small letters, where they are of ASCII."""
    tables = ["topics.name"] if is_planned(sql) else ["routes.topic"]
    topics = _search(sql, tables, text)
    users = _search(sql, ["sessions.user", "users.name"], text)
    reasons = Reasons(sql)
    return SearchResult(
        topics=tuple(_topic_match(sql, reasons, name) for name in topics.names),
        users=tuple(_user_match(sql, reasons, name) for name in users.names),
        more=topics.more or users.more,
    )


@dataclass(frozen=True)
class _Names:
    """Names, best first, of which there may be more."""

    names: list[str]
    more: bool


def _search(sql: Sql, columns: Iterable[str], text: str) -> _Names:
    found: dict[str, int] = {}
    more = False
    for column in columns:
        table, _, name = column.partition(".")
        for rank, names in enumerate(_ranked(sql, table, name, text)):
            for each in names:
                found[each] = min(rank, found.get(each, rank))
        more = more or _has_more(sql, table)
    best = sorted(found, key=lambda name: (found[name], name))
    return _Names(best[:MOST_FOUND], more or len(best) > MOST_FOUND)


def _ranked(sql: Sql, table: str, column: str, text: str) -> list[list[str]]:
    """The names that are the text, that begin with it, and that have it inside; the
    last list has some of the others too."""
    source = f"SELECT DISTINCT {column} FROM"
    found = (
        sql.execute(f"{source} {table} WHERE {column} = ?", (text,)),
        sql.execute(
            f"{source} {table} WHERE {column} >= ?1 AND {column} < ?1 || ?2"
            f" ORDER BY {column} LIMIT ?3",
            (text, _LAST_LETTER, MOST_FOUND + 1),
        ),
        sql.execute(
            f"{source} (SELECT {column} FROM {table} LIMIT ?2)"
            f" WHERE instr(lower({column}), lower(?1)) ORDER BY {column} LIMIT ?3",
            (text, SCANNED, 2 * MOST_FOUND + 2),
        ),
    )
    return [[name for (name,) in rows] for rows in found]


def _has_more(sql: Sql, table: str) -> bool:
    """True if there are names that were not looked through."""
    rows = sql.execute(f"SELECT 1 FROM {table} LIMIT 1 OFFSET ?", (SCANNED,))
    return rows.fetchone() is not None


def _topic_match(sql: Sql, reasons: "Reasons", topic: str) -> TopicMatch:
    row = sql.execute(
        "SELECT rate, home, target_ms FROM topics WHERE name = ?", (topic,)
    ).fetchone()
    rate, home, target = row or (None, "", None)
    period = int(setting(sql, "period_seconds"))
    brokers = stored_route(sql, topic).brokers
    return TopicMatch(
        topic=topic,
        brokers=brokers,
        home=home,
        rate=rate / period if rate is not None and period else None,
        target_ms=target,
        why=reasons.of_topic(brokers, home),
    )


def _user_match(sql: Sql, reasons: "Reasons", user: str) -> UserMatch:
    sessions = sessions_of(sql, user)
    found = tuple(_session_match(session) for session in sessions)
    return UserMatch(user, found, reasons.of_user(user, sessions))


def _session_match(session: Session) -> SessionMatch:
    topics = session.topics or ()
    return SessionMatch(
        broker=session.broker,
        home=session.home,
        topics=topics[:MOST_TOPICS],
        topic_count=None if session.topics is None else len(topics),
    )


_GONE = {
    BrokerState.LOST: "was lost",
    BrokerState.STOPPED: "was stopped",
    BrokerState.DRAINING: "began to be drained",
    BrokerState.DRAINED: "was drained",
}


class Reasons:
    """Why a topic or a session is where it is, in a sentence, by what is stored: what
    is not known is not said. Of one moment: to be made anew for each question."""

    def __init__(self, sql: Sql) -> None:
        self._sql = sql
        self._is_planned = is_planned(sql)
        self._placement = setting(sql, "placement")
        self._brokers = {broker.name: broker for broker in all_brokers(sql)}
        self._decided: dict[int, str] = {}
        # A decision changes where a session is at home. Old moves are forgotten.
        self._all_moves = last_move(sql) <= KEPT_MOVES

    def of_topic(self, brokers: Sequence[str], home: str) -> str:
        if home:
            return self._of_placed_topic(brokers, home)
        if not brokers:
            return "no broker carries it now"
        where = "carried where sessions ask for it"
        return where if self._is_planned else f"{where}, or by one in turn if none does"

    def of_user(self, user: str, sessions: Sequence[Session]) -> str:
        found = [(each.broker, self._of_session(user, each)) for each in sessions]
        reasons = dict.fromkeys(why for _, why in found)
        if not found:
            return "it is registered and has no session"
        if len(reasons) == 1:
            return next(iter(reasons))
        return "; ".join(f"{broker}: {why}" for broker, why in dict.fromkeys(found))

    def _of_placed_topic(self, brokers: Sequence[str], home: str) -> str:
        others = [name for name in brokers if name != home]
        away = self._absence(home)
        if away:
            why = f"its broker {away}"
        elif not brokers:
            return f"the plan puts it on {home}, which does not carry it yet"
        elif not others:
            return "the plan puts it there"
        else:
            why = f"the plan puts it on {home}"
        verb = "carries" if len(others) == 1 else "carry"
        return f"{why}; {', '.join(others)} {verb} it now" if others else why

    def _of_session(self, user: str, session: Session) -> str:
        under_way = moves_under_way(self._sql, user, session.broker)
        if under_way:
            return f"on its way to {under_way[0].target}{self._by(under_way[0])}"
        away = self._away(session)
        if away:
            return f"its broker {away}"
        first = next(iter(session.topics or ()), "")
        at_home = session.broker == session.home
        moved = last_done(self._sql, user, first, decided=at_home)
        if moved is not None and moved.target == session.broker:
            return f"moved from {moved.source}{self._by(moved)}"
        if not self._is_planned:
            return f"placed by {self._placement}"
        if not at_home:
            return f"it is at home on {session.home}, which is up"
        return "the plan puts it there" if self._all_moves else "it is at home there"

    def _away(self, session: Session) -> str:
        """What has become of the broker where it should be, if it cannot be there."""
        name = session.home or session.broker
        if name == session.broker and self._brokers[name].alive:
            return ""
        return self._absence(name)

    def _absence(self, name: str) -> str:
        """What has become of a broker that is not up, and when; empty if it is."""
        broker = self._brokers.get(name)
        if broker is None or broker.state is BrokerState.UP:
            return ""
        if broker.state is BrokerState.EXPECTED or not broker.epoch:
            return f"{name} has not come up yet"
        return f"{name} {_GONE[broker.state]} at {_time(broker)}"

    def _by(self, move: Move) -> str:
        """By which decision, if by any; a move of an operator has its number."""
        if move.decision is None:
            return f" (move {move.id})"
        number = move.decision
        if number not in self._decided:
            self._decided[number] = self._decision(number)
        return f" by decision {number}{self._decided[number]}"

    def _decision(self, number: int) -> str:
        """Its policy and what it was to achieve; old ones are forgotten."""
        try:
            decision = read_decision(self._sql, number)
        except NotFoundError:
            return ""
        found = decision.proposal
        if found is None:
            return f" ({decision.policy})"
        seconds = found.period_seconds
        before = max((b.before for b in found.brokers), default=0) / seconds
        after = max((b.after for b in found.brokers), default=0) / seconds
        return (
            f" ({decision.policy}): max load {before / 1000:,.1f} -> "
            f"{after / 1000:,.1f} kB/s"
        )


def _time(broker: Broker) -> str:
    """By a clock that is the same for whoever reads it."""
    return time.strftime("%H:%M:%S UTC", time.gmtime(broker.since))
