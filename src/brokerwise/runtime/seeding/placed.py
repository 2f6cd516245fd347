"""A plan of kind provision or fill: each subscriber's pairs, broker by broker."""

from collections.abc import Iterator
from itertools import groupby
from operator import itemgetter

import numpy as np

from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession
from brokerwise.runtime.seeding.names import sendable
from brokerwise.runtime.seeding.plain import broker_name


def placed_seed(plan: Plan, workload: Workload) -> Seed:
    """Brokers b0, b1, ... as the plan numbers them, and a session for each broker
    that serves a subscriber anything, its topics in the order of the workload.

    Every topic of the workload is known, also those that the plan serves nobody.
    """
    topics = sendable("topic", workload.topic_names)
    return Seed(
        brokers=tuple(
            SeedBroker(broker_name(number), int(capacity))
            for number, capacity in enumerate(plan.brokers.capacity)
        ),
        placement="plan",
        kind=plan.kind,
        sessions=tuple(_sessions(plan, topics, workload)),
        rates=dict(zip(topics, workload.rates.tolist(), strict=True)),
        period_seconds=workload.period_seconds,
    )


def _sessions(
    plan: Plan, topics: list[str], workload: Workload
) -> Iterator[SeedSession]:
    """By subscriber, then by broker."""
    users = sendable("subscriber", workload.subscriber_names)
    selected = plan.selected
    owners, brokers = selected.owners(), plan.placement.brokers_of(selected)
    order = np.lexsort((selected.topics, brokers, owners))
    columns = (owners, brokers, selected.topics)
    pairs = zip(*(column[order].tolist() for column in columns), strict=True)
    for (owner, broker), served in groupby(pairs, key=itemgetter(0, 1)):
        wanted = tuple(topics[topic] for _, _, topic in served)
        yield SeedSession(users[owner], broker_name(broker), wanted)
