"""A plan repaired after its brokers were observed: few topics move."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from brokerwise.model.colocation import Replicas
from brokerwise.planners.colocate.emptying import joining
from brokerwise.planners.colocate.feasibility import Oracle
from brokerwise.planners.colocate.heuristics import Packing, ffd
from brokerwise.planners.colocate.problem import Demand


@dataclass(frozen=True)
class Repair:
    """Brokers in the order they had, those that were opened last; `moved` are the
    replicas that had to leave the broker that they were on."""

    packing: Packing
    moved: tuple[int, ...]


def repair(oracle: Oracle, current: Packing) -> Repair:
    """Make every broker feasible, and place what has no broker.

    From each broker that is infeasible as few replicas leave as can: no plan moves
    fewer. Of several ways the one that moves the least load is taken. Those, and new
    ones, go heaviest first to the fullest broker that takes them; what fits nowhere
    opens brokers, by first fit. Brokers that end up empty are left out.
    """
    brokers: Packing = []
    moved: list[int] = []
    for members in current:
        staying = _staying(oracle, members)
        brokers.append(staying)
        moved += sorted(set(members) - set(staying))
    placed = {replica for members in brokers for replica in members}
    left = [replica for replica in range(len(oracle.demand)) if replica not in placed]
    load = oracle.demand.load
    without = []
    for replica in sorted(left, key=lambda replica: (-load[replica], replica)):
        home = _fullest_home(oracle, replica, brokers, current)
        if home is None:
            without.append(replica)
        else:
            brokers[home].append(replica)
    brokers = [members for members in brokers if members]
    return Repair(brokers + ffd(oracle, np.array(without, np.int32)), tuple(moved))


def packing_now(demand: Demand, current: Replicas) -> Packing:
    """The replicas of each broker as it is now; none may be on an unknown one."""
    rows = zip(demand.topic.tolist(), demand.number.tolist(), strict=True)
    place = {row: at for at, row in enumerate(rows)}
    packing: Packing = [[] for _ in range(current.brokers)]
    for topic, number, broker in _rows(current):
        packing[broker].append(place[topic, number])
    return packing


def moves_of(
    demand: Demand, current: Replicas, repaired: Repair
) -> list[dict[str, int]]:
    """Which replica of which topic goes from which broker, of those that there were,
    to which."""
    now = {(topic, number): broker for topic, number, broker in _rows(current)}
    home = {r: b for b, members in enumerate(repaired.packing) for r in members}
    moves = []
    for replica in repaired.moved:
        topic, number = int(demand.topic[replica]), int(demand.number[replica])
        moves.append(
            {
                "topic": topic,
                "replica": number,
                "from": now[topic, number],
                "to": home[replica],
            }
        )
    return moves


def _rows(current: Replicas) -> Iterator[tuple[int, int, int]]:
    columns = (current.topic, current.number, current.broker)
    return zip(*(column.tolist() for column in columns), strict=True)


def _staying(oracle: Oracle, members: list[int]) -> list[int]:
    """The members that can stay: as many as possible, and then as heavy."""
    load = oracle.demand.load
    for size in range(len(members), 0, -1):
        sets = np.array(list(combinations(members, size)), np.int32)
        able = sets[oracle.feasible(sets)]
        if len(able):
            return [int(r) for r in able[int(np.argmax(load[able].sum(axis=1)))]]
    return []


def _fullest_home(
    oracle: Oracle, replica: int, brokers: Packing, current: Packing
) -> int | None:
    """The fullest broker that takes a replica, but for the one that it leaves."""
    load = oracle.demand.load
    able = [
        b
        for b, members in enumerate(brokers)
        if members and len(members) < oracle.k and replica not in current[b]
    ]
    joins = joining(oracle, replica, [brokers[b] for b in able])
    homes = [b for b, may in zip(able, joins, strict=True) if may]
    return max(homes, key=lambda b: (load[brokers[b]].sum(), -b), default=None)
