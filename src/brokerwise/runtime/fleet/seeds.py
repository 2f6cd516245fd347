"""What a fleet starts from: a number of brokers, or a plan of any kind.

Without a plan users are placed as they come. Plans of kind provision and fill give each
subscriber's pairs broker by broker; an overlay, each user's broker and how brokers
forward; a co-location, each topic's broker, step and target.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

import numpy as np

from brokerwise.model.colocation import ColocationPlan, TopicTable, replica_name
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.plan import Plan
from brokerwise.model.workload import Workload
from brokerwise.runtime.protocol.fleet import Axis, Branch, OverlayPart
from brokerwise.runtime.protocol.names import refusal
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession
from brokerwise.runtime.protocol.subchannels import PREFIX

PLACEMENTS = ("nearest", "round-robin", "random")
PERIOD_SECONDS = 3600  # what rates of a co-location are counted over, as whole messages
_SHOWN = 40  # letters of a name


def seed_of_count(
    brokers: int,
    placement: str = "round-robin",
    steps: Mapping[str, str] | None = None,
    places: Sequence[tuple[float, float]] = (),
    into: Mapping[str, str] | None = None,
) -> Seed:
    """Brokers b0, b1, ... of unknown capacity; any topic may be subscribed to.

    `steps` are processing steps, and `into` the datasets that what comes out is fed
    to, by topic or pattern; `places` say where brokers are, the first one of b0. With
    `nearest`, users go by turns if there are none.
    """
    if brokers < 1:
        raise InputError(f"brokers: found {brokers:,}, expected at least 1")
    if placement not in PLACEMENTS:
        raise InputError(
            f"placement: found {placement!r}, expected {', '.join(PLACEMENTS)}"
        )
    if places and len(places) != brokers:
        raise InputError(
            f"places: found {len(places):,}, expected {brokers:,}, one a broker"
        )
    made = [SeedBroker(broker_name(number)) for number in range(brokers)]
    if places:
        pairs = zip(made, places, strict=True)
        made = [replace(broker, x=x, y=y) for broker, (x, y) in pairs]
    return Seed(
        brokers=tuple(made),
        placement=placement,
        steps=dict(steps or {}),
        into=dict(into or {}),
    )


def broker_name(number: int) -> str:
    """What a broker is called that a plan, or nobody, gave only a number."""
    return f"b{number}"


def placement_seed(plan: Plan, workload: Workload) -> Seed:
    """Brokers b0, b1, ... as the plan numbers them, and a session for each broker
    that serves a subscriber anything, its topics in the order of the workload.

    Every topic of the workload is known, also those that the plan serves nobody.
    """
    topics = check_names("topic", workload.topic_names)
    return Seed(
        brokers=tuple(
            SeedBroker(broker_name(number), int(capacity))
            for number, capacity in enumerate(plan.brokers.capacity)
        ),
        placement="plan",
        kind=plan.kind,
        sessions=tuple(_placed_sessions(plan, topics, workload)),
        rates=dict(zip(topics, workload.rates.tolist(), strict=True)),
        period_seconds=workload.period_seconds,
    )


def _placed_sessions(
    plan: Plan, topics: list[str], workload: Workload
) -> Iterator[SeedSession]:
    """By subscriber, then by broker."""
    users = check_names("subscriber", workload.subscriber_names)
    selected = plan.selected
    owners, brokers = selected.owners(), plan.placement.brokers_of(selected)
    order = np.lexsort((selected.topics, brokers, owners))
    columns = (owners, brokers, selected.topics)
    pairs = zip(*(column[order].tolist() for column in columns), strict=True)
    for (owner, broker), served in groupby(pairs, key=itemgetter(0, 1)):
        wanted = tuple(topics[topic] for _, _, topic in served)
        yield SeedSession(users[owner], broker_name(broker), wanted)


def overlay_seed(plan: OverlayPlan, network: Network) -> Seed:
    """Brokers by their names in the network, one session for each user: also for one
    who wants nothing, since that is where it publishes.

    The rate of a sub-channel is all that users publish in it.
    """
    brokers = check_names("broker", network.broker_names)
    rates = np.zeros(len(network.subchannels), np.int64)
    np.add.at(rates, network.published.subchannels, network.published.rates)
    return Seed(
        brokers=_overlay_brokers(brokers, network),
        placement="plan",
        kind=plan.kind,
        sessions=_overlay_sessions(plan, network, brokers),
        rates={subchannel(k): rate for k, rate in enumerate(rates.tolist())},
        overlay=_overlay_parts(plan.trees, network, brokers),
        period_seconds=network.period_seconds,
    )


def subchannel(number: int) -> str:
    """The topic of a sub-channel."""
    return f"{PREFIX}{number}"


def _overlay_brokers(names: list[str], network: Network) -> tuple[SeedBroker, ...]:
    points = network.broker_points
    if points is None or points.shape[1] != 2:
        points = np.full((len(names), 2), np.nan)
    return tuple(
        SeedBroker(name, capacity, *(None if np.isnan(c) else c for c in point))
        for name, capacity, point in zip(
            names, network.capacity.tolist(), points.tolist(), strict=True
        )
    )


def _overlay_sessions(
    plan: OverlayPlan, network: Network, brokers: list[str]
) -> tuple[SeedSession, ...]:
    wanted, ends = network.wanted.subchannels.tolist(), network.wanted.offsets.tolist()
    names = check_names("user", network.user_names)
    return tuple(
        SeedSession(
            name,
            brokers[home],
            tuple(subchannel(k) for k in wanted[ends[user] : ends[user + 1]]),
        )
        for user, (name, home) in enumerate(
            zip(names, plan.broker.tolist(), strict=True)
        )
    )


def _overlay_parts(
    trees: Trees, network: Network, brokers: list[str]
) -> dict[str, OverlayPart]:
    """What each broker passes on: the links of all trees that begin at it."""
    axes = tuple(Axis(axis.attribute, axis.edges) for axis in network.subchannels.axes)
    branches: dict[str, list[Branch]] = {name: [] for name in brokers}
    columns = (trees.parent, trees.source, trees.subchannel, trees.child)
    links = sorted(zip(*(column.tolist() for column in columns), strict=True))
    for (parent, source, number), group in groupby(links, key=itemgetter(0, 1, 2)):
        children = tuple(brokers[child] for *_, child in group)
        branch = Branch(brokers[source], subchannel(number), children)
        branches[brokers[parent]].append(branch)
    return {name: OverlayPart(axes, tuple(own)) for name, own in branches.items()}


def colocation_seed(plan: ColocationPlan, topics: TopicTable) -> Seed:
    """Brokers b0, b1, ... as the plan numbers them, and every topic at home at one.

    A topic's step takes the processor time that the plan counts on; operators give it
    a real one. A topic that was split has replicas, topics of their own.
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
    return check_names("topic", names)


def check_names(what: str, names: Iterable[str]) -> list[str]:
    """The names; InputError for the first that no frame can carry."""
    checked = list(names)
    for name in checked:
        refused = refusal(name)
        if refused:
            shown = name if len(name) <= _SHOWN else f"{name[:_SHOWN]}..."
            raise InputError(f"{what} {shown!r} cannot run in a fleet: {refused}")
    return checked
