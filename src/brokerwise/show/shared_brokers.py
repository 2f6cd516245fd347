"""Plans of kind colocate, opened: which topics share brokers, and how late they are
predicted to be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.pipeline.colocate import Colocated
from brokerwise.runtime.fleet.seeds import broker_name
from brokerwise.show.colocate import (
    colocate_details,
    colocate_result,
    cores,
    replica_name,
    target_shares,
)
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.results import Result
from brokerwise.show.tables import Table
from brokerwise.show.view import (
    LISTED,
    Json,
    Search,
    View,
    found,
    kept_of,
    listed,
    page_of_plan,
    quoted,
    tables_json,
    unsaid,
    view_of,
)
from brokerwise.storage.colocation_plan import StoredColocation, read_colocation_plan
from brokerwise.storage.latency_model import read_latency_model
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class ReplicaAt:
    """A topic, or a replica of it, on a broker: what is predicted there beside others,
    and the most that it may be."""

    broker: str
    beside: Sequence[str]
    predicted_ms: float
    limit_ms: float


def topic_why(
    name: str, replicas: Sequence[ReplicaAt], target_ms: float, margin: float
) -> str:
    """Where a topic is, with whom, and how near it comes to its target."""
    if len(replicas) > 1:
        brokers = listed([replica.broker for replica in replicas])
        return (
            f"{quoted(name)} is split into {len(replicas):,} replicas, on {brokers}: "
            f"whole, it would miss its target of {significant(target_ms)} ms."
        )
    less = f"its target of {significant(target_ms)} ms"
    if margin:
        less += f" less {percent(margin)}"
    only = replicas[0]
    where = (
        f"on {only.broker} {_company(only)}"
        if only.beside
        else (f"alone on {only.broker}")
    )
    return (
        f"{quoted(name)} is {where}: its p90 is predicted to be "
        f"{significant(only.predicted_ms)} ms, {_judged(only)} ({less})."
    )


def replica_text(replica: ReplicaAt, *, is_one_of_several: bool) -> str:
    """What is said beside the broker; of a topic that was not split, `topic_why` has
    said the rest."""
    p90 = f"p90 {significant(replica.predicted_ms)} ms"
    text = f"{p90}, at most {significant(replica.limit_ms)} ms"
    if not is_one_of_several:
        return text
    return f"{text}, {_company(replica) if replica.beside else 'alone'}"


def _company(replica: ReplicaAt) -> str:
    return f"with {listed(list(map(quoted, replica.beside)))}"


def _judged(replica: ReplicaAt) -> str:
    most = f"{significant(replica.limit_ms)} ms"
    if replica.predicted_ms <= replica.limit_ms:
        return f"at most {most} are allowed"
    return f"more than {most}, but these topics were seen to meet their targets"


UNIT = "cores of processing"


class SharedBrokers:
    """A plan of kind colocate and its topics; a row is a topic or a replica of one."""

    def __init__(self, plan: ColocationPlan, topics: TopicTable) -> None:
        self._plan, self._rows, self._topics = plan, plan.replicas, topics
        self._search = Search(topics.names)

    def find(self, text: str) -> Json:
        hits = self._search.hits(text)
        topics = [self._topic(number) for number in hits.numbers]
        return {"topics": topics, "subscribers": [], "more": hits.more}

    def brokers(self) -> list[Json]:
        """The brokers in order; of very many the busiest."""
        count = self._rows.brokers
        topics = np.bincount(self._rows.broker, minlength=count)
        load = np.bincount(self._rows.broker, self._loads, minlength=count)
        nearest = np.zeros(count)
        np.maximum.at(nearest, self._rows.broker, self._shares)
        shown = np.sort(np.argsort(-load, kind="stable")[:LISTED])
        return [
            {
                "number": number,
                "name": broker_name(number),
                "load": float(load[number]),
                "capacity": None,
                "used": None,
                "topics": int(topics[number]),
                "note": f"nearest to its target: {percent(float(nearest[number]))}",
            }
            for number in shown.tolist()
        ]

    def broker(self, number: int) -> Json | None:
        if not 0 <= number < self._rows.brokers:
            return None
        rows = self._on(number)
        cores = significant(float(self._loads[rows].sum()))
        return {
            "number": number,
            "name": broker_name(number),
            "facts": [
                ["Load", f"{cores} cores"],
                ["Topics", f"{len(rows):,} of at most {self._plan.k:,}"],
                ["Nearest to its target", percent(float(self._shares[rows].max()))],
            ],
            "tables": tables_json([self._table(number, rows)]),
        }

    @cached_property
    def _loads(self) -> Float64s:
        return cores(self._plan, self._topics)

    @cached_property
    def _shares(self) -> Float64s:
        return target_shares(self._plan, self._topics)

    @cached_property
    def _moves(self) -> Mapping[tuple[str, int], Result]:
        """By topic and replica: from where it came, and why."""
        moves = self._plan.figures.get("moves") or []
        return {(move["topic"], move["replica"]): move for move in moves}

    def _on(self, broker: int) -> Int64s:
        """The rows on a broker, the heaviest first."""
        rows = np.flatnonzero(self._rows.broker == broker)
        return rows[np.argsort(-self._loads[rows], kind="stable")]

    def _topic(self, number: int) -> Json:
        ends = np.searchsorted(self._rows.topic, [number, number + 1])
        rows = range(*ends.tolist())
        replicas = [self._replica(row) for row in rows]
        name, target = self._topics.names[number], float(self._topics.target_ms[number])
        said = [topic_why(name, replicas, target, self._plan.margin)]
        said += [text for row in rows for text in self._moved(row)]
        where = [
            {
                "number": int(self._rows.broker[row]),
                "broker": replica.broker,
                "text": replica_text(replica, is_one_of_several=len(rows) > 1),
                "p90_ms": replica.predicted_ms,
                "limit_ms": replica.limit_ms,
            }
            for row, replica in zip(rows, replicas, strict=True)
        ]
        return found(name, " ".join(said), where)

    def _replica(self, row: int) -> ReplicaAt:
        broker, topic = int(self._rows.broker[row]), int(self._rows.topic[row])
        others = [self._name(int(other)) for other in self._on(broker) if other != row]
        limit = float(self._topics.target_ms[topic]) * (1 - self._plan.margin)
        predicted = float(self._rows.predicted_p90_ms[row])
        return ReplicaAt(broker_name(broker), others, predicted, limit)

    def _moved(self, row: int) -> list[str]:
        topic, replica = int(self._rows.topic[row]), int(self._rows.number[row])
        move = self._moves.get((self._topics.names[topic], replica))
        if move is None:
            return []
        return [f"It moved from {broker_name(move['from'])}: {move['why']}."]

    def _name(self, row: int) -> str:
        return replica_name(self._plan, self._topics, row)

    def _table(self, number: int, rows: Int64s) -> Table:
        cells = []
        for row in rows.tolist():
            target = float(self._topics.target_ms[self._rows.topic[row]])
            cells.append(
                (
                    self._name(row),
                    significant(float(self._rows.rate_per_second[row])),
                    significant(float(self._loads[row])),
                    significant(float(self._rows.predicted_p90_ms[row])),
                    significant(target * (1 - self._plan.margin)),
                    significant(target),
                )
            )
        return Table(
            f"{counted(len(rows), 'topic')} on {broker_name(number)}",
            (
                *("topic", "messages a second", "load, cores"),
                *("predicted p90, ms", "at most, ms", "target, ms"),
            ),
            cells,
        )


def open_colocation(place: Place, topics: Place | None) -> View:
    """The whole plan in memory. It has its topics with it, so `topics`, where they came
    from, is for the audit only."""
    stored = read_colocation_plan(place)
    shared = SharedBrokers(stored.plan, stored.topics)
    page = page_of_plan(place, _result(place, stored))
    return view_of(page, shared, UNIT, stored.plan.replicas.brokers)


def _result(place: Place, stored: StoredColocation) -> dict[str, Any]:
    """What `brokerwise colocate --json` prints, as far as it is known."""
    header = stored.header
    model = read_latency_model(Place(header.model.path))
    found = Colocated(stored.plan, header, stored.topics, model, header.source, None)
    return {
        **colocate_result(found, place),
        "details": colocate_details(stored.plan, stored.topics),
        "source": header.source.path,
        "model": header.model.path,
        **unsaid(header.seconds),
        **kept_of(place, header.digest, "observed", "left_out"),
    }
