"""Claims against the recount: what differs, in words."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from brokerwise.auditing.claims import BrokerClaim, Claims
from brokerwise.auditing.findings import Audit, Violation, in_order, named
from brokerwise.auditing.quality import (
    Period,
    close,
    delivered_figures,
    wrong_bounds,
    wrong_costs,
    wrong_objective,
    wrong_split,
    wrong_value_bounds,
)
from brokerwise.auditing.recount import BrokerCount, Recount, Run
from brokerwise.model.names import Names

_NOTHING = BrokerCount(0, 0, 0, 0)


@dataclass(frozen=True)
class Naming:
    """How topics and subscribers are called; None for an id that is not theirs."""

    topic_name: Callable[[int], str | None]
    subscriber_name: Callable[[int], str | None]

    def topic(self, topic: int) -> str:
        return f"topic {_quoted(self.topic_name(topic), topic)}"

    def subscriber(self, subscriber: int) -> str:
        return f"subscriber {_quoted(self.subscriber_name(subscriber), subscriber)}"


def name_in(names: Names) -> Callable[[int], str | None]:
    """A lookup in names that are numbered from 0."""
    return lambda id: names[id] if 0 <= id < len(names) else None


def judged(
    claims: Claims,
    recount: Recount,
    naming: Naming,
    period: Period,
    *,
    own_thresholds: bool,
) -> list[Violation]:
    """All that is wrong with the claims, and with the placement itself."""
    total = recount.total()
    return in_order(
        [
            *_totals(claims, recount),
            *named("cost", wrong_costs(claims, total, period)),
            *named("objective", wrong_objective(claims, recount.worth)),
            *named(
                "bound",
                [
                    *wrong_bounds(claims, total.load),
                    *wrong_value_bounds(claims, recount.worth),
                ],
            ),
            *named("fleet", [*_fleet(claims), *wrong_split(claims)]),
            *named("capacity", _capacities(claims, recount)),
            *named("load", _loads(claims, recount)),
            *_runs(recount, naming),
            *_subscribers(recount, naming),
            *_pairs(recount, naming),
            *_thresholds(claims, recount, naming, own_thresholds),
        ]
    )


def summed_up(
    claims: Claims, recount: Recount, digest: str, violations: list[Violation]
) -> Audit:
    """An audit's result: figures as recounted, not as claimed."""
    total = recount.total()
    return Audit(
        kind=claims.kind,
        brokers=len(claims.brokers),
        load=total.load,
        pairs=total.pairs,
        subscribers=recount.subscribers,
        digest=digest,
        thresholds_checked=claims.promises_thresholds,
        violations=tuple(in_order(violations)),
    )


def _totals(claims: Claims, recount: Recount) -> list[Violation]:
    total = recount.total()
    truth: dict[str, int | float] = {
        "brokers": len(claims.brokers),
        "load": total.load,
        "pairs": total.pairs,
        "incoming": total.incoming,
        "outgoing": total.outgoing,
        "delivered": total.outgoing,
    }
    if recount.worth is not None:
        truth |= delivered_figures(total, recount.worth)
    absent = [key for key in claims.required if key not in claims.figures]
    stated = [key for key in truth if key in claims.figures]
    wrong = [key for key in stated if _differs(claims.figures[key], truth[key])]
    return named(
        "totals",
        [
            *(f"plan.json has no figure {key!r}" for key in absent),
            *(_difference(key, claims.figures[key], truth[key]) for key in wrong),
        ],
    )


def _differs(stated: float, truth: float) -> bool:
    """Counts are exact; a share is as near as floating point gets."""
    if isinstance(truth, float):
        return not close(stated, truth)
    return stated != truth


def _difference(key: str, stated: float, truth: float) -> str:
    if isinstance(truth, float):
        return f"{key}: stated {stated:,.10g}, found {truth:,.10g}"
    return f"{key}: stated {stated:,}, found {truth:,}"


def _fleet(claims: Claims) -> Iterator[str]:
    for broker, times in Counter(b.broker for b in claims.brokers).items():
        if times > 1:
            yield f"broker {broker} is listed {times:,} times"
    used = Counter(b.type for b in claims.brokers)
    for name, number in sorted(used.items()):
        kind = claims.fleet.type_named(name)
        if kind is None:
            yield f"the fleet has no broker type {json.dumps(name)}, {number:,} used"
        elif kind.count is not None and number > kind.count:
            yield (
                f"{number:,} brokers of type {json.dumps(name)}, "
                f"the fleet has {kind.count:,}"
            )


def _capacities(claims: Claims, recount: Recount) -> Iterator[str]:
    for claim in claims.brokers:
        kind = claims.fleet.type_named(claim.type)
        limit = claim.capacity
        if kind is not None and kind.capacity != claim.capacity:
            limit = min(limit, kind.capacity)
            yield (
                f"broker {claim.broker} has capacity {claim.capacity:,}, "
                f"its type {json.dumps(claim.type)} has {kind.capacity:,}"
            )
        load = recount.brokers.get(claim.broker, _NOTHING).load
        if load > limit:
            yield f"broker {claim.broker} carries {load:,}, its capacity is {limit:,}"


def _loads(claims: Claims, recount: Recount) -> Iterator[str]:
    for claim in claims.brokers:
        found = recount.brokers.get(claim.broker, _NOTHING)
        differing = list(_differing(claim, found))
        if differing:
            yield f"broker {claim.broker}: {'; '.join(differing)}"


def _differing(claim: BrokerClaim, found: BrokerCount) -> Iterator[str]:
    for what, said, counted in (
        ("load", claim.load, found.load),
        ("topics", claim.topics, found.topics),
        ("pairs", claim.pairs, found.pairs),
    ):
        if said is not None and said != counted:
            yield f"{what} stated {said:,}, found {counted:,}"


def _runs(recount: Recount, naming: Naming) -> list[Violation]:
    return [
        *named(
            "assignment",
            (_run(run, naming) for run in recount.runs.examples),
            recount.runs.total,
        ),
        *named(
            "broker",
            (
                f"{naming.topic(run.topic)} has {_counted(run.found, 'pair')} on "
                f"broker {run.broker}, which does not exist"
                for run in recount.unhosted.examples
            ),
            recount.unhosted.total,
        ),
    ]


def _run(run: Run, naming: Naming) -> str:
    where = f"{naming.topic(run.topic)} on broker {run.broker}"
    if run.rows > 1:
        return f"{where} is listed {run.rows:,} times"
    return f"{where}: {_counted(run.said, 'pair')} stated, {run.found:,} found"


def _subscribers(recount: Recount, naming: Naming) -> list[Violation]:
    messages = [
        *(
            f"{naming.subscriber(row.subscriber)} has no row in the placement"
            for row in recount.missing.examples
        ),
        *(
            f"{naming.subscriber(row.subscriber)} has {row.rows:,} rows in the "
            "placement, expected one"
            for row in recount.doubled.examples
        ),
        *(
            f"{naming.subscriber(row.subscriber)} is not in the workload"
            for row in recount.strangers.examples
        ),
        *(
            f"{naming.subscriber(step.subscriber)} comes after "
            f"{naming.subscriber(step.after)}, out of order"
            for step in recount.disordered.examples
        ),
    ]
    total = recount.missing.total + recount.doubled.total
    total += recount.strangers.total + recount.disordered.total
    return named("subscribers", messages, total)


def _pairs(recount: Recount, naming: Naming) -> list[Violation]:
    who, what = naming.subscriber, naming.topic
    return [
        *named(
            "lists",
            (
                f"{who(row.subscriber)} has {_counted(row.topics, 'topic')} but "
                f"{_counted(row.brokers, 'broker')} in its lists"
                for row in recount.misaligned.examples
            ),
            recount.misaligned.total,
        ),
        *named(
            "repeated",
            (
                f"{who(p.subscriber)} is served {what(p.topic)} {p.times:,} times"
                for p in recount.repeated.examples
            ),
            recount.repeated.total,
        ),
        *named(
            "unwanted",
            (
                f"{who(p.subscriber)} is served {what(p.topic)}, which it does not want"
                for p in recount.unwanted.examples
            ),
            recount.unwanted.total,
        ),
    ]


def _thresholds(
    claims: Claims, recount: Recount, naming: Naming, own_thresholds: bool
) -> list[Violation]:
    if not claims.promises_thresholds:
        return []
    if claims.threshold is None and not own_thresholds:
        return named("threshold", ["neither the plan nor a subscriber has a threshold"])
    return named(
        "threshold",
        (
            f"{naming.subscriber(short.subscriber)} receives {short.received:,}, "
            f"its threshold is {short.threshold:,}"
            for short in recount.short.examples
        ),
        recount.short.total,
    )


def _quoted(name: str | None, number: int) -> str:
    """The name in quotes, control characters escaped; the number if it has none."""
    return f"number {number}" if name is None else json.dumps(name, ensure_ascii=False)


def _counted(number: int, thing: str) -> str:
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"
