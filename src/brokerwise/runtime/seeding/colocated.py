"""A plan of kind colocate: each topic at its broker, with its step and its target."""

from collections import Counter

from brokerwise.model.colocation import ColocationPlan, replica_name
from brokerwise.model.errors import InputError
from brokerwise.model.topic_table import TopicTable
from brokerwise.runtime.protocol.seed import Seed, SeedBroker
from brokerwise.runtime.seeding.names import sendable
from brokerwise.runtime.seeding.plain import broker_name

PERIOD_SECONDS = 3600  # what rates are counted over, as whole messages


def colocated_seed(plan: ColocationPlan, topics: TopicTable) -> Seed:
    """Brokers b0, b1, ... as the plan numbers them, and every topic at home at one.

    A topic's step takes the processor time that the plan counts on; whoever runs the
    fleet gives it a real one. A topic that was split has replicas, topics of their own.
    """
    names = replica_names(plan, topics)
    replicas = plan.replicas
    homes = [broker_name(broker) for broker in replicas.broker.tolist()]
    spans = topics.processing_ms[replicas.topic].tolist()
    targets = topics.target_ms[replicas.topic].tolist()
    rates = (replicas.rate_per_second * PERIOD_SECONDS).round().astype(int).tolist()
    return Seed(
        brokers=tuple(SeedBroker(broker_name(b)) for b in range(replicas.brokers)),
        placement="plan",
        kind=plan.kind,
        rates=dict(zip(names, rates, strict=True)),
        steps={n: f"spin:{ms:g}" for n, ms in zip(names, spans, strict=True)},
        homes=dict(zip(names, homes, strict=True)),
        targets=dict(zip(names, targets, strict=True)),
        period_seconds=PERIOD_SECONDS,
    )


def replica_names(plan: ColocationPlan, topics: TopicTable) -> list[str]:
    """What each replica's topic is called: as its topic, with ~1, ~2, ... after it if
    there are several. Raises InputError if another topic is called so."""
    replicas = plan.replicas
    counts = Counter(replicas.topic.tolist())
    names = [
        replica_name(topics.names[topic], n)
        if counts[topic] > 1
        else topics.names[topic]
        for topic, n in zip(
            replicas.topic.tolist(), replicas.number.tolist(), strict=True
        )
    ]
    taken = [name for name, count in Counter(names).items() if count > 1]
    if taken:
        raise InputError(
            f"topic {taken[0]!r} cannot run in a fleet: a replica of another topic is "
            "called so, too"
        )
    return sendable("topic", names)
