"""Which brokers of a new packing are those of a former plan: the ones that serve the
most pairs which were there before."""

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.placement import Placement
from brokerwise.planners.provision.layout import NOWHERE, Layout, Part
from brokerwise.planners.provision.packing.pack import Packing


def rematched(start: Layout, packing: Packing) -> tuple[Packing, list[int], int]:
    """The packing with its brokers in the order of the former ones that they are.

    `start` has everything where it was. Returns also the former number of each
    broker, -1 for those that are new, and how many pairs move at most. A broker can
    only be a former one of its type. The runs of cut topics are put in the order
    that they had. O(runs), and a sort of the pairs of brokers with pairs in common.
    """
    runs = packing.placement
    parts = _Parts(start)
    shared = _in_common(parts, runs, len(packing.broker_type), len(start.kind))
    former = _matched(shared, packing.broker_type, start)
    last = np.where(former < 0, np.iinfo(np.int32).max, former)
    order = np.lexsort((np.arange(len(former)), last))
    number = np.empty(len(order), np.int32)
    number[order] = np.arange(len(order))
    placement = _in_former_order(parts, runs, number, former)
    origins = former[order]
    moves = parts.total - _staying(parts, placement, origins)
    return Packing(packing.broker_type[order], placement), origins.tolist(), moves


class _Parts:
    """What each topic had where, in order of subscribers."""

    def __init__(self, start: Layout) -> None:
        self._start = start
        listed = np.zeros(len(start.rates), np.bool_)
        listed[list(start.runs)] = True
        self.simple = ~listed & (start.home != NOWHERE)
        self.home, self.kept = start.home, start.kept
        self.total = int(start.kept[self.simple].sum()) + sum(
            part.kept for topic in start.runs for part in self.of(topic)
        )

    def of(self, topic: int) -> list[Part]:
        start = self._start
        if topic in start.runs:
            return [part for run in start.runs[topic] for part in run.parts]
        if start.home[topic] == NOWHERE:
            return []
        home, kept = int(start.home[topic]), int(start.kept[topic])
        return [Part(home, int(start.counts[topic]), kept)]


def _plain(parts: _Parts, runs: Placement) -> "np.typing.NDArray[np.bool_]":
    """Runs of topics that have one home before and now."""
    number = np.bincount(runs.topic, minlength=len(parts.simple))
    plain: np.typing.NDArray[np.bool_] = parts.simple[runs.topic] & (
        number[runs.topic] == 1
    )
    return plain


def _in_common(parts: _Parts, runs: Placement, brokers: int, former: int) -> Int64s:
    """Rows (pairs, broker, former broker) of those that have pairs in common; of
    topics that are cut it is a guess."""
    plain = _plain(parts, runs)
    topic = runs.topic[plain]
    keys = runs.broker[plain].astype(np.int64) * former + parts.home[topic]
    weights = [parts.kept[topic]]
    extra_keys, extra = [], []
    for t, b, n in _rows(runs, ~plain):
        for part in parts.of(t):
            extra_keys.append(b * former + part.origin)
            extra.append(min(n, part.kept))
    keys = np.concatenate([keys, np.array(extra_keys, np.int64)])
    weights.append(np.array(extra, np.int64))
    found, inverse = np.unique(keys, return_inverse=True)
    pairs = np.zeros(len(found), np.int64)
    np.add.at(pairs, inverse, np.concatenate(weights))
    return np.column_stack([pairs, found // max(1, former), found % max(1, former)])


def _matched(shared: Int64s, types: Int32s, start: Layout) -> Int32s:
    """The former broker of each: most pairs in common first, then any of its type."""
    former = np.full(len(types), -1, np.int32)
    free = start.kind >= 0
    for pairs, b, f in shared[np.argsort(-shared[:, 0], kind="stable")].tolist():
        if pairs and former[b] < 0 and free[f] and types[b] == start.kind[f]:
            former[b] = f
            free[f] = False
    for b in np.flatnonzero(former < 0).tolist():
        same = np.flatnonzero(free & (start.kind == types[b]))
        if len(same):
            former[b] = same[0]
            free[same[0]] = False
    return former


def _in_former_order(
    parts: _Parts, runs: Placement, number: Int32s, former: Int32s
) -> Placement:
    """The runs with brokers renumbered; those of a topic in the order that they had."""
    place = np.zeros(len(runs.topic), np.int64)
    cut = np.bincount(runs.topic, minlength=len(parts.simple))[runs.topic] > 1
    before: dict[int, dict[int, int]] = {}
    for i in np.flatnonzero(cut).tolist():
        t = int(runs.topic[i])
        if t not in before:
            before[t] = {part.origin: j for j, part in enumerate(parts.of(t))}
        place[i] = before[t].get(int(former[runs.broker[i]]), len(before[t]))
    order = np.lexsort((np.arange(len(place)), place, runs.topic))
    return Placement(runs.topic[order], number[runs.broker[order]], runs.pairs[order])


def _staying(parts: _Parts, runs: Placement, origins: Int32s) -> int:
    """Pairs that are where they were, at least."""
    plain = _plain(parts, runs)
    topic, broker = runs.topic[plain], runs.broker[plain]
    same = origins[broker] == parts.home[topic]
    total = int(parts.kept[topic[same]].sum())
    rows = _rows(runs, ~plain)
    at, position = 0, 0
    last = -1
    for t, b, n in rows:
        position = 0 if t != last else position
        last, at = t, 0
        for part in parts.of(t):
            common = min(position + n, at + part.pairs) - max(position, at)
            if common > 0 and origins[b] == part.origin:
                total += max(0, common - (part.pairs - part.kept))
            at += part.pairs
        position += n
    return total


def _rows(runs: Placement, some: "np.typing.NDArray[np.bool_]") -> list[list[int]]:
    rows: list[list[int]] = np.column_stack(
        [runs.topic[some], runs.broker[some], runs.pairs[some]]
    ).tolist()
    return rows
