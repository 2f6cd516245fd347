"""Whether what the experiments say is so, counted again, for all papers.

Nothing of the planners, the kernels or the simulator is used here: the load law, needs,
costs and imbalance are stated again, in numpy or pair by pair, and a model is asked
again what it predicts. Each function yields what is wrong, in words.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import Any

import numpy as np

from brokerwise.auditing.trees import least_weights
from brokerwise.model.arrays import Bools, Int32s, Int64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.latency import Predictor
from brokerwise.model.network import Network
from brokerwise.model.placement import Placement
from brokerwise.model.snapshot import Snapshot
from brokerwise.model.workload import NO_THRESHOLD, Workload
from brokerwise.runtime.simulation.result import SimulationResult

Lists = tuple[Int64s, Int32s]
"""Topics of subscribers: where each list begins, and all of them in order."""
_SEARCHED = "local"  # our wiring, which may not cost more than another
_EXACT = 1e-9
_ROUNDING = 1e-6


# Fillings (Lambert and Sakellariou)


def filling_problems(
    rates: Int64s,
    followers: Int64s,
    capacities: Int64s,
    draft: tuple[Int32s, Int32s, Int64s],
    value: int,
) -> Iterator[str]:
    """What is wrong with numbers of pairs by topic and broker.

    A broker takes in each of its topics once, and sends it once for each pair.
    """
    topic, broker, pairs = (np.asarray(part, np.int64) for part in draft)
    if len(topic) and not _exist(topic, len(rates), broker, len(capacities)):
        yield "a topic or a broker that does not exist"
        return
    places = topic * max(1, len(capacities)) + broker
    if len(np.unique(places)) < len(places):
        yield "a topic is twice on a broker"
    if len(pairs) and pairs.min() < 1:
        yield f"{pairs.min()} pairs of a topic on a broker"
    served = np.zeros(len(rates), np.int64)
    np.add.at(served, topic, pairs)
    if (served > followers).any():
        yield f"{np.count_nonzero(served > followers):,} topics serve more than want it"
    loads = np.zeros(len(capacities), np.int64)
    np.add.at(loads, broker, rates[topic] * (1 + pairs))
    over = loads - capacities
    if len(over) and over.max() > 0:
        worst = int(np.argmax(over))
        yield f"broker {worst} carries {loads[worst]:,} of {capacities[worst]:,}"
    delivered = int(rates @ served)
    if delivered != value:
        yield f"says {value:,} is delivered, but it is {delivered:,}"


def filling_order_problems(
    values: Mapping[str, int], bound: int | None
) -> Iterator[str]:
    """What delivers more than it can, or less than ours must."""
    for name, value in values.items():
        if bound is not None and value > bound:
            yield f"{name} delivers {value:,}, above the bound of {bound:,}"
    ours = values.get("columns")
    if ours is not None and ours < max(values.values()):
        best = max(values, key=lambda name: values[name])
        yield f"columns delivers {ours:,}, less than {best} with {values[best]:,}"


def _exist(topic: Int64s, topics: int, broker: Int64s, brokers: int) -> bool:
    return bool(
        min(topic.min(), broker.min()) >= 0
        and topic.max() < topics
        and broker.max() < brokers
    )


# Wirings (Zhao and Wu)


@dataclass(frozen=True, eq=False)
class Traffic:
    """What users (rows) send in sub-channels, what they want, and their loads."""

    sent: Int64s
    wants: Bools
    load: Int64s

    @classmethod
    def of(cls, network: Network) -> "Traffic":
        """A user sends what another one wants; and gets, of what it wants, all that
        others publish."""
        shape = network.users, len(network.subchannels)
        wants, rates = np.zeros(shape, np.bool_), np.zeros(shape, np.int64)
        wants[network.wanted.owners(), network.wanted.subchannels] = True
        published = network.published
        rates[published.owners(), published.subchannels] = published.rates
        others = wants.sum(axis=0) - wants
        sent = np.where(others > 0, rates, 0)
        gets = np.where(wants, rates.sum(axis=0) - rates, 0)
        return cls(sent, wants, sent.sum(axis=1) + gets.sum(axis=1))


def access_problems(
    network: Network, traffic: Traffic, broker: Int32s, access: int
) -> Iterator[str]:
    """Users out of reach, brokers over their capacity, another cost than said."""
    if len(broker) != network.users:
        yield f"{len(broker):,} of {network.users:,} users have a broker"
        return
    if len(broker) and not (broker.min() >= 0 and broker.max() < network.brokers):
        yield "a user is on a broker that does not exist"
        return
    links = network.access[np.arange(network.users), broker]
    far = np.count_nonzero(links < 0)
    if far:
        yield f"{far:,} users are on brokers that they do not know"
    loads = np.zeros(network.brokers, np.int64)
    np.add.at(loads, broker, traffic.load)
    over = loads - network.capacity
    worst = int(np.argmax(over))
    if over[worst] > 0:
        yield (
            f"broker {worst} carries {loads[worst]:,} of {network.capacity[worst]:,}"
        )
    found = int(traffic.load @ links)
    if found != access:
        yield f"says access costs {access:,}, but it is {found:,}"


def core_problems(
    core: Int64s, traffic: Traffic, broker: Int32s, cost: int
) -> Iterator[str]:
    """Another cost of the core than said: for each broker and sub-channel in which its
    users send, the lightest tree of it and all brokers with users who want it."""
    brokers, subchannels = len(core), traffic.sent.shape[1]
    sources = np.zeros((brokers, subchannels), np.int64)
    np.add.at(sources, broker, traffic.sent)
    wanted = np.zeros((brokers, subchannels), np.bool_)
    np.logical_or.at(wanted, broker, traffic.wants)
    source, subchannel = np.nonzero(sources)
    members = wanted.T[subchannel]
    members[np.arange(len(source)), source] = True
    found = int(sources[source, subchannel] @ least_weights(core, members))
    if found != cost:
        yield f"says the core costs {cost:,}, but it is {found:,}"


def wiring_order_problems(costs: Mapping[str, int], bound: int | None) -> Iterator[str]:
    """What costs less than it can, or more than ours may."""
    for name, cost in costs.items():
        if bound is not None and cost < bound:
            yield f"{name} costs {cost:,}, below the bound of {bound:,}"
    ours = costs.get(_SEARCHED)
    if ours is not None and ours > min(costs.values()):
        best = min(costs, key=lambda name: costs[name])
        yield f"{_SEARCHED} costs {ours:,}, more than {best} with {costs[best]:,}"


# Simulated runs (Nguyen et al.)


def simulation_problems(run: SimulationResult) -> list[str]:
    return [*_ends_problems(run), *_cov_problems(run), *_move_problems(run)]


def recounted(snapshot: Snapshot) -> list[int]:
    """Each broker's load: every pair's rate, and each topic's once more."""
    loads = [0] * snapshot.brokers
    carried: set[tuple[int, int]] = set()
    offsets, topics = snapshot.wanted.offsets.tolist(), snapshot.wanted.topics.tolist()
    rates = snapshot.rates.tolist()
    for session, broker in enumerate(snapshot.places.tolist()):
        for topic in topics[offsets[session] : offsets[session + 1]]:
            first = (broker, topic) not in carried
            carried.add((broker, topic))
            loads[broker] += rates[topic] * (1 + first)
    return loads


def _ends_problems(run: SimulationResult) -> Iterator[str]:
    said, found = run.loads[-1].tolist(), recounted(run.end)
    if said != found:
        yield f"says loads end as {said}, but they are {found}"
    if found and max(found) < run.bound:
        yield f"max load {max(found):,} is below the bound of {run.bound:,}"
    places = [0] * run.end.brokers
    for broker in run.end.places.tolist():
        places[broker] += 1
    if places != run.sessions[-1].tolist():
        yield f"says sessions end as {run.sessions[-1].tolist()}, but they are {places}"


def _cov_problems(run: SimulationResult) -> Iterator[str]:
    for at, row, said in zip(run.times, run.loads.tolist(), run.cov, strict=True):
        mean = fmean(row)
        found = pstdev(row) / mean if mean else 0.0
        if abs(found - said) > _EXACT:
            yield f"says cov is {said:.6f} at {at:g} s, but it is {found:.6f}"
            return


def _move_problems(run: SimulationResult) -> Iterator[str]:
    """A session leaves from where it was moved to, and goes elsewhere."""
    last: dict[int, int] = {}
    for move in run.moves:
        if move.source == move.target:
            yield f"user {move.user} moves to where it is at {move.at:g} s"
            return
        if last.get(move.user, move.source) != move.source:
            yield (
                f"user {move.user} leaves broker {move.source} at {move.at:g} s, but "
                f"was moved to {last[move.user]}"
            )
            return
        last[move.user] = move.target


# Selections and packings (Setty et al.)


@dataclass(frozen=True, eq=False)
class Served:
    """What a selection gives to subscribers: pairs of each topic, and mistakes."""

    counts: Int64s
    subscribers: int
    short: int
    unwanted: int
    repeated: int

    def problems(self, subscribers: int) -> Iterator[str]:
        if self.subscribers != subscribers:
            yield f"{self.subscribers:,} of {subscribers:,} subscribers have a list"
        if self.short:
            yield f"{self.short:,} subscribers get less than they need"
        if self.unwanted:
            yield f"{self.unwanted:,} pairs are selected that nobody wants"
        if self.repeated:
            yield f"{self.repeated:,} pairs are selected twice"


def count_served(workload: Workload, threshold: int, blocks: Iterable[Lists]) -> Served:
    """Go through what is selected, block by block in order of subscribers."""
    counts = np.zeros(workload.topics, np.int64)
    first, mistakes = 0, np.zeros(3, np.int64)
    for offsets, topics in blocks:
        number = len(offsets) - 1
        np.add.at(counts, topics, 1)
        mistakes += _mistakes(workload, threshold, first, offsets, topics)
        first += number
    return Served(counts, first, *mistakes.tolist())


def _mistakes(
    workload: Workload, threshold: int, first: int, offsets: Int64s, topics: Int32s
) -> Int64s:
    number = len(offsets) - 1
    at = workload.interests.offsets[first : first + number + 1]
    wanted = workload.interests.topics[at[0] : at[-1]]
    received = _sums(workload.rates[topics], offsets)
    needs = _needs(workload, threshold, first, number)
    needs = np.minimum(needs, _sums(workload.rates[wanted], at - at[0]))
    asked, got = _keys(at, wanted, workload), _keys(offsets, topics, workload)
    got.sort()
    place = np.minimum(np.searchsorted(asked, got), max(len(asked) - 1, 0))
    known = asked[place] == got if len(asked) else np.zeros(len(got), np.bool_)
    return np.array(
        [
            np.count_nonzero(received < needs),
            np.count_nonzero(~known),
            np.count_nonzero(got[1:] == got[:-1]),
        ]
    )


def _needs(workload: Workload, threshold: int, first: int, number: int) -> Int64s:
    if workload.thresholds is None:
        return np.full(number, threshold, np.int64)
    own = workload.thresholds[first : first + number]
    return np.where(own == NO_THRESHOLD, threshold, own)


def _sums(values: Int64s, offsets: Int64s) -> Int64s:
    totals = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    sums: Int64s = totals[offsets[1:]] - totals[offsets[:-1]]
    return sums


def _keys(offsets: Int64s, topics: Int32s, workload: Workload) -> Int64s:
    """A number for each pair, ascending where topics of a subscriber are."""
    owner = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    keys: Int64s = owner * max(1, workload.topics) + topics
    return keys


def placement_problems(
    rates: Int64s, counts: Int64s, capacities: Int64s, placement: Placement
) -> Iterator[str]:
    """What is wrong with runs: a broker over its capacity, pairs lost or invented."""
    placed = np.zeros(len(counts), np.int64)
    np.add.at(placed, placement.topic, placement.pairs)
    differing = np.count_nonzero(placed != counts)
    if differing:
        yield f"{differing:,} topics have more or fewer pairs placed than selected"
    loads = np.zeros(len(capacities), np.int64)
    sent = rates[placement.topic] * placement.pairs
    np.add.at(loads, placement.broker, rates[placement.topic] + sent)
    over = np.flatnonzero(loads > capacities)
    if len(over):
        worst = over[np.argmax(loads[over] - capacities[over])]
        yield (
            f"{len(over):,} brokers are over their capacity, broker {worst} with "
            f"{loads[worst]:,} of {capacities[worst]:,}"
        )


def cost_problems(costs: Iterable[tuple[str, float, str, float]]) -> Iterator[str]:
    """Costs that should not be above others, but are."""
    for name, cost, other, limit in costs:
        if cost > limit:
            yield f"{name} costs {cost:.6f}, more than {other} ({limit:.6f})"


# Models, and plans of topics that share brokers (Khare et al.)


def plan_problems(
    plan: ColocationPlan, topics: TopicTable, predictor: Predictor, k: int
) -> list[str]:
    """Every topic is placed once, no broker has more than k, all are predicted within
    their targets less the margin, and no bound is above the number of brokers."""
    if plan.objective is None:
        return [f"has no plan: {plan.reason}"]
    return [
        *_place_problems(plan, topics, k),
        *_prediction_problems(plan, topics, predictor),
    ]


def brokers_of(plan: ColocationPlan) -> dict[int, list[int]]:
    """The topics of each broker."""
    found = defaultdict(list)
    rows = zip(plan.replicas.topic.tolist(), plan.replicas.broker.tolist(), strict=True)
    for topic, broker in rows:
        found[broker].append(topic)
    return dict(sorted(found.items()))


def _place_problems(plan: ColocationPlan, topics: TopicTable, k: int) -> Iterator[str]:
    times = Counter(plan.replicas.topic.tolist())
    wrong = [t for t in {*range(len(topics)), *times} if times[t] != 1]
    if wrong:
        yield f"topic {min(wrong)} is placed {times[min(wrong)]} times"
    brokers = brokers_of(plan)
    most = max(map(len, brokers.values()), default=0)
    if most > k:
        yield f"a broker has {most} topics, more than {k}"
    if len(brokers) != plan.objective:
        yield f"says {plan.objective} brokers, but they are {len(brokers)}"
    if plan.bound is None or plan.bound > len(brokers):
        yield f"says that no plan has fewer than {plan.bound}, but has {len(brokers)}"
    if not np.array_equal(
        plan.replicas.rate_per_second, topics.rate_per_second[plan.replicas.topic]
    ):
        yield "a topic does not have the rate that it was asked for"


def _prediction_problems(
    plan: ColocationPlan, topics: TopicTable, predictor: Predictor
) -> Iterator[str]:
    said = dict(
        zip(
            plan.replicas.topic.tolist(),
            plan.replicas.predicted_p90_ms.tolist(),
            strict=True,
        )
    )
    for broker, members in brokers_of(plan).items():
        p90 = predictor.p90_ms(
            topics.processing_ms[members][None, :],
            topics.rate_per_second[members][None, :],
        )[0]
        limit = topics.target_ms[members] * (1 - plan.margin)
        if (p90 > limit * (1 + _EXACT)).any():
            at = int(np.argmax(p90 / limit))
            yield (
                f"topic {members[at]} on broker {broker} is predicted {p90[at]:,.1f} "
                f"ms, more than {limit[at]:,.1f} ms"
            )
            return
        if not np.allclose(p90, [said[t] for t in members], rtol=_ROUNDING):
            yield f"predictions on broker {broker} are not what the model says"
            return


def request_problems(runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Of all plans of one request: `search` has no more brokers than any other, and
    no bound is above any plan."""
    brokers = {run["label"]: run["brokers"] for run in runs}
    if not brokers or None in brokers.values():
        return
    least = min(brokers.values())
    if brokers.get("search", least) > least:
        other = min(brokers, key=lambda label: brokers[label])
        yield f"search has {brokers['search']} brokers, {other} {least}"
    for run in runs:
        if run["bound"] > least:
            yield (
                f"{run['label']} says that no plan has fewer than {run['bound']} "
                f"brokers, but there is one with {least}"
            )


def monotone_problems(
    predictor: Predictor, processing: Sequence[float], most: Sequence[int], seed: int
) -> Iterator[str]:
    """Removing a topic must not raise any prediction: asked of random sets."""
    random = np.random.default_rng(seed)
    for k in range(2, predictor.most_topics + 1):
        picks = random.integers(0, len(processing), (200, k))
        p = np.array(processing)[picks]
        r = 1.0 + np.floor(random.random(picks.shape) * np.array(most)[picks])
        more, fewer = predictor.p90_ms(p, r), predictor.p90_ms(p[:, :-1], r[:, :-1])
        worse = int((fewer > more[:, :-1] * (1 + _EXACT)).any(axis=1).sum())
        if worse:
            yield f"removing a topic of {k} raises a prediction in {worse} of 200 sets"
