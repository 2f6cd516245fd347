"""The audit of a plan of kind colocate: every set asked again, on numpy arrays."""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from brokerwise.auditing.colocation_claims import (
    ColocationClaims,
    claims_of_plan,
    claims_on_disk,
    same_topics,
)
from brokerwise.auditing.colocation_predictions import (
    Excused,
    Predictions,
    seen_to_miss,
)
from brokerwise.auditing.colocation_rows import (
    brokers_of,
    loads_of,
    wrong_brokers,
    wrong_loads,
    wrong_quality,
    wrong_replicas,
    wrong_sharing,
    wrong_totals,
)
from brokerwise.auditing.findings import (
    ColocationAudit,
    Violation,
    in_order,
    named,
)
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.latency import Predictor
from brokerwise.storage.colocation_observed import ObservedSet
from brokerwise.storage.colocation_plan import (
    ColocationHeader,
    observed_in,
    read_colocation_header,
    read_colocation_tables,
)
from brokerwise.storage.colocation_tables import topics_of_table
from brokerwise.storage.latency_model import StoredModel, read_latency_model
from brokerwise.storage.place import Place
from brokerwise.storage.tables import check_numbered, small_table_digest
from brokerwise.storage.topic_table import read_topic_source


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
        *named("digest", _changed(header, tables)),
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
        found += named("target", asked.late(known_to_model, Excused(rows, met)))
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


def _changed(header: ColocationHeader, tables: Mapping[str, pa.Table]) -> Iterator[str]:
    """Tables that are not those that plan.json was written for."""
    for name, table in tables.items():
        digest, stated = small_table_digest(table), header.digests[name]
        if digest != stated:
            yield f"{name} has digest {digest[:12]}, plan.json says {stated[:12]}"
    if header.content_digest() != header.digest:
        yield (
            f"the plan has digest {header.content_digest()[:12]}, "
            f"plan.json says {header.digest[:12]}"
        )
