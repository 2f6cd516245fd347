"""The audit of a plan of kind colocate: every set asked again, on numpy arrays."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.auditing.files import changed_tables
from brokerwise.auditing.findings import (
    ColocationAudit,
    Violation,
    in_order,
    named,
)
from brokerwise.auditing.quality import RELATIVE, wrong_order
from brokerwise.model.arrays import Float64s, Int32s, Int64s
from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.latency import Predictor
from brokerwise.model.plan import WITHOUT_PLAN, Status
from brokerwise.storage.colocation_plan import (
    ColocationHeader,
    ObservedSet,
    observed_in,
    read_colocation_header,
    read_colocation_tables,
    replicas_of_table,
    topics_of_table,
)
from brokerwise.storage.latency_model import StoredModel, read_latency_model
from brokerwise.storage.place import Place
from brokerwise.storage.tables import check_numbered, table_digests
from brokerwise.storage.topic_table import read_topic_source

_REQUIRED = ("brokers", "load", "topics", "replicas", "split")
_OTHER_PLANS = ("ffd", "lfs", "hybrid")
"""Figures that are the brokers of other plans for the same topics."""
_SETS_AT_ONCE = 50_000


@dataclass(frozen=True, eq=False)
class BrokerRows:
    """The lines of the list of brokers."""

    broker: Int32s
    topics: Int32s
    load: Float64s


@dataclass(frozen=True, eq=False)
class Rows:
    """The lines of the assignment. `target` is None if it was not said."""

    topic: Int32s
    replica: Int32s
    broker: Int32s
    rate: Float64s
    predicted: Float64s
    target: Float64s | None = None

    @classmethod
    def of(cls, replicas: Replicas, target: Float64s | None = None) -> "Rows":
        return cls(
            replicas.topic,
            replicas.number,
            replicas.broker,
            replicas.rate_per_second,
            replicas.predicted_p90_ms,
            target,
        )

    def __len__(self) -> int:
        return len(self.topic)


@dataclass(frozen=True, eq=False)
class ColocationClaims:
    """A plan's statements; `brokers` are None for a plan in memory, which has no list
    of them. `required` figures must be among `figures`."""

    status: str
    objective: int | None
    bound: int | None
    gap: float | None
    k: int
    margin: float
    rows: Rows
    brokers: BrokerRows | None
    figures: Mapping[str, Any]
    required: tuple[str, ...] = ()

    @property
    def feasible(self) -> bool:
        return self.status not in WITHOUT_PLAN


def claims_of_plan(plan: ColocationPlan) -> ColocationClaims:
    """What a plan in memory says."""
    return ColocationClaims(
        status=plan.status,
        objective=plan.objective,
        bound=plan.bound,
        gap=plan.gap,
        k=plan.k,
        margin=plan.margin,
        rows=Rows.of(plan.replicas),
        brokers=None,
        figures=plan.figures,
    )


def claims_on_disk(
    header: ColocationHeader, tables: Mapping[str, pa.Table]
) -> ColocationClaims:
    """What plan.json and the tables say."""
    brokers = tables["brokers"]
    return ColocationClaims(
        status=header.status,
        objective=header.objective,
        bound=header.bound,
        gap=header.gap,
        k=header.k,
        margin=header.margin,
        rows=Rows.of(
            replicas_of_table(tables["assignment"]),
            tables["assignment"]["target_ms"].to_numpy(),
        ),
        brokers=BrokerRows(
            *(brokers[name].to_numpy() for name in ("broker", "topics", "load"))
        ),
        figures=header.figures,
        required=() if header.status in WITHOUT_PLAN else _REQUIRED,
    )


def same_topics(stated: TopicTable, found: TopicTable) -> list[str]:
    """How the topics that a plan has differ from those that it says it is for."""
    if list(stated.names) != list(found.names):
        return [
            f"the plan is for {len(stated):,} topics, its source has {len(found):,}, "
            "and not the same ones in the same order"
        ]
    messages = []
    for field in ("processing_ms", "rate_per_second", "target_ms"):
        ours, theirs = getattr(stated, field), getattr(found, field)
        for at in np.flatnonzero(ours != theirs).tolist():
            messages.append(
                f'topic "{stated.names[at]}": {field} stated {ours[at]:g}, in the '
                f"source {theirs[at]:g}"
            )
    return messages


def brokers_of(rows: Rows) -> dict[int, Int64s]:
    """The rows of each broker."""
    order = np.argsort(rows.broker, kind="stable")
    numbers, starts = np.unique(rows.broker[order], return_index=True)
    parts = np.split(order, starts[1:]) if len(numbers) else []
    return dict(zip(numbers.tolist(), parts, strict=True))


def loads_of(rows: Rows, topics: TopicTable) -> dict[int, float]:
    """Cores of processing of each broker, of topics that exist."""
    loads = {}
    for broker, members in brokers_of(rows).items():
        known = [m for m in members if 0 <= rows.topic[m] < len(topics)]
        spent = (topics.processing_ms[rows.topic[m]] * rows.rate[m] for m in known)
        loads[broker] = math.fsum(spent) / 1000
    return loads


def wrong_replicas(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Topics that are not there exactly once, or whose replicas do not make them up."""
    rows = claims.rows
    if not claims.feasible:
        if len(rows):
            yield f"{len(rows):,} rows in a plan that is {claims.status}"
        return
    wrong = (rows.topic < 0) | (rows.topic >= len(topics))
    for topic in rows.topic[wrong].tolist():
        yield f"topic {topic:,} does not exist"
    keys = list(zip(rows.topic.tolist(), rows.replica.tolist(), strict=True))
    if keys != sorted(keys):
        yield "rows are not in the order of topics and replicas"
    for topic in range(len(topics)):
        yield from _wrong_replicas(claims, topics, topic)


def _wrong_replicas(
    claims: ColocationClaims, topics: TopicTable, topic: int
) -> Iterator[str]:
    rows = claims.rows
    own = np.flatnonzero(rows.topic == topic)
    name = f'topic "{topics.names[topic]}"'
    if not len(own):
        yield f"{name} is on no broker"
        return
    numbers = rows.replica[own].tolist()
    if sorted(numbers) != list(range(len(own))):
        yield f"{name} has replicas {numbers}, expected each number from 0 once"
    total, rate = math.fsum(rows.rate[own]), float(topics.rate_per_second[topic])
    if not math.isclose(total, rate, rel_tol=RELATIVE) or (rows.rate[own] <= 0).any():
        yield f"{name}: its replicas have rate {total:g} in all, the topic {rate:g}"
    if rows.target is not None:
        for stated in set(rows.target[own].tolist()) - {float(topics.target_ms[topic])}:
            yield (
                f"{name}: target stated {stated:g} ms, expected "
                f"{topics.target_ms[topic]:g} ms"
            )


def wrong_sharing(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Brokers with too many topics, or with two replicas of one."""
    rows = claims.rows
    for broker, members in brokers_of(rows).items():
        if len(members) > claims.k:
            yield f"broker {broker:,} has {len(members):,} topics, k is {claims.k:,}"
        held, counts = np.unique(rows.topic[members], return_counts=True)
        for topic in held[counts > 1].tolist():
            known = 0 <= topic < len(topics)
            name = f'"{topics.names[topic]}"' if known else f"{topic:,}"
            yield f"broker {broker:,} has several replicas of topic {name}"


def wrong_brokers(rows: Rows) -> Iterator[str]:
    """Numbers of brokers that are not those from 0."""
    numbers = np.unique(rows.broker)
    if not np.array_equal(numbers, np.arange(len(numbers))):
        yield (
            f"{len(numbers):,} brokers have topics, numbered from {numbers[0]:,} to "
            f"{numbers[-1]:,}, expected from 0 without a gap"
        )


def wrong_loads(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    """Rows of the list of brokers that are not what the assignment makes."""
    listed = claims.brokers
    if listed is None:
        return
    loads, members = loads_of(claims.rows, topics), brokers_of(claims.rows)
    if listed.broker.tolist() != list(range(len(loads))):
        yield f"expected a row for each of {len(loads):,} brokers, in order"
        return
    for broker, load in loads.items():
        if not 0 <= broker < len(loads):
            return
        stated, count = float(listed.load[broker]), int(listed.topics[broker])
        if not math.isclose(stated, load, rel_tol=RELATIVE):
            yield f"broker {broker:,}: load stated {stated:g}, found {load:g}"
        if count != len(members[broker]):
            yield (
                f"broker {broker:,}: topics stated {count:,}, found "
                f"{len(members[broker]):,}"
            )


def wrong_totals(claims: ColocationClaims, topics: TopicTable) -> Iterator[str]:
    rows = claims.rows
    for name in claims.required:
        if name not in claims.figures:
            yield f"plan.json has no figure {name!r}"
    if not claims.feasible:
        return
    own, counts = np.unique(rows.topic, return_counts=True)
    truth = {
        "brokers": len(brokers_of(rows)),
        "load": math.fsum(loads_of(rows, topics).values()),
        "topics": len(own),
        "replicas": len(rows),
        "split": int(np.count_nonzero(counts > 1)),
    }
    for name, found in truth.items():
        stated = claims.figures.get(name, found)
        if not _same(stated, found):
            yield f"{name}: stated {stated!r}, found {found:,.10g}"
    if claims.objective is not None and claims.objective != truth["brokers"]:
        yield f"objective: stated {claims.objective:,}, found {truth['brokers']:,}"


def wrong_quality(claims: ColocationClaims) -> Iterator[str]:
    """Statements about status, bound and gap that do not fit together."""
    objective, bound = claims.objective, claims.bound
    if claims.status not in list(Status):
        yield f"status is {claims.status!r}, expected {', '.join(Status)}"
    elif objective is None or bound is None or not claims.feasible:
        if claims.feasible or (objective, bound) != (None, None):
            yield (
                f"objective {objective} and bound {bound} in a plan that is "
                f"{claims.status}"
            )
    else:
        yield from _wrong_order(claims, objective, bound)


def _wrong_order(claims: ColocationClaims, objective: int, bound: int) -> Iterator[str]:
    yield from wrong_order(claims.status, claims.gap, objective, bound, "{:,}".format)
    for name in _OTHER_PLANS:
        other = claims.figures.get(name)
        if isinstance(other, int | float) and other < bound:
            yield f"{name} uses {other:,} brokers, below the bound {bound:,}"
    gap = (objective - bound) / objective if objective else 0.0
    if not _same(claims.gap, abs(gap)):
        yield (
            f"gap is {claims.gap}; objective {objective:,} and bound {bound:,} make "
            f"{abs(gap):,.10g}"
        )


def _same(stated: Any, found: float) -> bool:
    number = isinstance(stated, int | float) and not isinstance(stated, bool)
    return number and math.isclose(stated, found, rel_tol=RELATIVE, abs_tol=RELATIVE)


@dataclass(frozen=True, eq=False)
class Predictions:
    """A model, asked about rows of an assignment."""

    rows: Rows
    topics: TopicTable
    predictor: Predictor
    margin: float

    def of(self, sets: Int64s) -> Float64s:
        """What is predicted for each row of each set of rows."""
        processing = self.topics.processing_ms[self.rows.topic]
        parts = [np.empty((0, sets.shape[1]))]
        for first in range(0, len(sets), _SETS_AT_ONCE):
            some = sets[first : first + _SETS_AT_ONCE]
            parts.append(self.predictor.p90_ms(processing[some], self.rows.rate[some]))
        return np.concatenate(parts)

    def misstated(self, brokers: Sequence[Int64s]) -> Iterator[str]:
        """Rows whose prediction is not the model's."""
        for sets in _by_size(brokers):
            found = self.of(sets)
            stated = self.rows.predicted[sets]
            wrong = ~np.isclose(stated, found, rtol=RELATIVE, atol=0)
            for at, column in np.argwhere(wrong):
                row = sets[at, column]
                yield (
                    f"{self._name(row)} on broker {self.rows.broker[row]:,}: p90 "
                    f"stated {stated[at, column]:.6g} ms, the model says "
                    f"{found[at, column]:.6g} ms"
                )

    def late(self, brokers: Sequence[Int64s], excused: "Exemptions") -> Iterator[str]:
        """Topics that a set on a broker, or some part of it, is predicted to make too
        late: the first that is found on each broker."""
        limits = self.topics.target_ms[self.rows.topic] * (1 - self.margin)
        told: set[int] = set()
        for size in range(1, max(map(len, brokers), default=0) + 1):
            sets = [s for rows in brokers for s in combinations(rows.tolist(), size)]
            asked = np.array([s for s in sets if not excused(s)], np.int64)
            asked = asked.reshape(-1, size)
            found = self.of(asked)
            over = ~(found <= limits[asked] * (1 + RELATIVE))
            for at in np.flatnonzero(over.any(axis=1)):
                column = int(np.argmax(over[at]))
                row = asked[at, column]
                broker = int(self.rows.broker[row])
                if broker not in told:
                    told.add(broker)
                    yield self._late(asked[at], row, found[at, column], limits[row])

    def _late(self, members: Int64s, row: int, p90: float, limit: float) -> str:
        others = [self._name(other) for other in members if other != row]
        beside = f" beside {', '.join(others)}" if others else " alone"
        return (
            f"{self._name(row)} on broker {self.rows.broker[row]:,}: predicted "
            f"{p90:.6g} ms{beside}, at most {limit:.6g} ms is allowed"
        )

    def _name(self, row: int) -> str:
        return f'topic "{self.topics.names[int(self.rows.topic[row])]}"'


class Exemptions:
    """Sets of rows that were seen to meet their targets: the model is not asked."""

    def __init__(self, rows: Rows, met: Sequence[ObservedSet]) -> None:
        self._rows = rows
        self._met: dict[int, list[dict[int, float]]] = {}
        for seen in map(_rates, met):
            for topic in seen:
                self._met.setdefault(topic, []).append(seen)

    def __call__(self, members: Sequence[int]) -> bool:
        asked = [(int(self._rows.topic[m]), self._rows.rate[m]) for m in members]
        return any(
            all(t in seen and rate <= seen[t] for t, rate in asked)
            for seen in self._met.get(asked[0][0], ())
        )


def seen_to_miss(
    rows: Rows, brokers: Mapping[int, Int64s], missed: Sequence[ObservedSet]
) -> Iterator[str]:
    """Brokers with all topics of a set that was seen to miss, at no lower rates."""
    for broker, members in brokers.items():
        here = dict(zip(rows.topic[members].tolist(), rows.rate[members], strict=True))
        for seen in map(_rates, missed):
            if all(t in here and here[t] >= rate for t, rate in seen.items()):
                yield (
                    f"broker {broker:,} has topics {sorted(seen)}, which were seen to "
                    "miss a target together"
                )


def _rates(seen: ObservedSet) -> dict[int, float]:
    return dict(zip(seen.topics, seen.rates, strict=True))


def _by_size(brokers: Sequence[Int64s]) -> Iterator[Int64s]:
    for size in sorted({len(rows) for rows in brokers}):
        yield np.array([rows for rows in brokers if len(rows) == size], np.int64)


def colocation_violations(
    plan: ColocationPlan,
    topics: TopicTable,
    predictor: Predictor,
    observed: Sequence[ObservedSet] = (),
) -> list[Violation]:
    """All that is wrong with a plan; the first few of each check are named.

    Shares no code with planners and believes nothing that the plan says. Asks the
    model about every subset of every broker's topics: 2^k for each broker.
    """
    return _violations(claims_of_plan(plan), topics, predictor, observed)


def audit_colocation_directory(
    plan: Place, model: Place | None = None, topics: Place | None = None
) -> ColocationAudit:
    """Audit a plan directory against its model, and against the file or workload that
    its topics came from if that is still there.

    Both are where the plan says unless given. Raises InputError for a directory or a
    file that cannot be used, DigestMismatchError for a model or topics that are not
    the plan's or have changed.
    """
    header = read_colocation_header(plan)
    found = _model(plan, header, model)
    if found.header.digest != header.model.digest:
        raise DigestMismatchError(
            f"the model of {plan}", found.header.digest, header.model.digest
        )
    return audit_staged_colocation(plan, header, found.model, topics)


def audit_staged_colocation(
    place: Place,
    header: ColocationHeader,
    predictor: Predictor,
    topics: Place | None = None,
) -> ColocationAudit:
    """Audit a plan that is written, whether its plan.json, `header`, is or not."""
    tables = read_colocation_tables(place, header)
    check_numbered(place / header.tables["topics"], tables["topics"].column(0))
    table = topics_of_table(tables["topics"])
    source = _source(header, topics)
    claims = claims_on_disk(header, tables)
    found = [
        *named("digest", changed_tables(header, table_digests(tables))),
        *named("topics", same_topics(table, source) if source is not None else []),
        *_violations(claims, table, predictor, observed_in(tables)),
    ]
    loads = loads_of(claims.rows, table)
    return ColocationAudit(
        digest=header.digest,
        violations=tuple(in_order(found)),
        topics=len(table),
        replicas=len(claims.rows),
        brokers=len(loads),
        load=float(sum(loads.values())),
        source_checked=source is not None,
    )


def _violations(
    claims: ColocationClaims,
    topics: TopicTable,
    predictor: Predictor,
    observed: Sequence[ObservedSet],
) -> list[Violation]:
    rows = claims.rows
    brokers = brokers_of(rows)
    met = [one for one in observed if one.met]
    missed = [one for one in observed if not one.met]
    found = [
        *named("totals", wrong_totals(claims, topics)),
        *named("bound", wrong_quality(claims)),
        *named("replicas", wrong_replicas(claims, topics)),
        *named("sharing", wrong_sharing(claims, topics)),
        *named("broker", wrong_brokers(rows)),
        *named("load", wrong_loads(claims, topics)),
        *named("observed", seen_to_miss(rows, brokers, missed)),
    ]
    known = (rows.topic >= 0) & (rows.topic < len(topics)) & (rows.rate > 0)
    if known.all():
        asked = Predictions(rows, topics, predictor, claims.margin)
        known_to_model = [
            members
            for members in brokers.values()
            if len(members) <= predictor.most_topics
        ]
        found += named("prediction", asked.misstated(known_to_model))
        found += named("target", asked.late(known_to_model, Exemptions(rows, met)))
    return in_order(found)


def _model(plan: Place, header: ColocationHeader, given: Place | None) -> StoredModel:
    if given is not None:
        return read_latency_model(given)
    try:
        return read_latency_model(Place(header.model.path))
    except DigestMismatchError:
        raise
    except InputError as cause:
        path = header.model.path
        raise MissingBasisError(str(plan), "model", path, cause.message) from cause


def _source(header: ColocationHeader, given: Place | None) -> TopicTable | None:
    """The topics that the plan says it is for; None if they are not there any more."""
    place = given or Place(header.source.path)
    if given is None and not place.exists():
        return None
    target = header.options.get("target_ms")
    if not (target is None or isinstance(target, int | float)):
        raise InputError(f"plan.json: found target_ms {target!r}, expected a number")
    found = read_topic_source(place, target)
    if found.digest != header.source.digest:
        raise DigestMismatchError(f"{place}", found.digest, header.source.digest)
    return found.table
