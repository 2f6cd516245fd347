"""Placements in arrays: from a plan in memory, or as they are written on disk."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.plan import Plan
from brokerwise.storage.plan import PLACEMENT
from brokerwise.storage.subscribers import lists_of

NOWHERE = -1
"""The broker of a pair for which a plan in memory has no run."""


@dataclass(frozen=True, eq=False)
class Rows:
    """A placement as it is written: per row a subscriber and two lists."""

    subscriber: Int64s
    topic_offsets: Int64s
    topics: Int32s
    broker_offsets: Int64s
    brokers: Int32s


@dataclass(frozen=True, eq=False)
class Runs:
    """So many pairs of a topic on a broker, in any order."""

    topic: Int32s
    broker: Int32s
    pairs: Int64s


def rows_of_plan(plan: Plan) -> Rows:
    """The rows that a plan's selection and runs stand for.

    A topic's selected pairs, by subscriber, fill its runs one after the other; those
    that are left over are nowhere. Or the plan says it pair by pair.
    """
    selection, runs = plan.selected, plan.placement
    ids, offsets = np.arange(selection.subscribers), selection.offsets
    if runs.pair_broker is not None and len(runs.pair_broker) == selection.pairs:
        return Rows(ids, offsets, selection.topics, offsets, runs.pair_broker)
    brokers = np.full(selection.pairs, NOWHERE, np.int32)
    if runs.runs and selection.pairs:
        order = np.argsort(selection.topics, kind="stable")
        topic = selection.topics[order]
        ends = np.cumsum(runs.pairs)
        firsts = np.searchsorted(runs.topic, topic)
        before = np.append(0, ends)[firsts]
        rank = np.arange(len(topic)) - np.searchsorted(topic, topic)
        run = np.searchsorted(ends, before + rank, side="right")
        there = (run < runs.runs) & (runs.topic[run % runs.runs] == topic)
        brokers[order[there]] = runs.broker[run[there]]
    return Rows(ids, offsets, selection.topics, offsets, brokers)


def rows_on_disk(parts: Sequence[pa.Table]) -> Rows:
    """The rows of the placement's files, one after the other."""
    table = pa.concat_tables([PLACEMENT.empty_table(), *parts], promote_options="none")
    topic_offsets, topics = lists_of(table["topics"])
    broker_offsets, brokers = lists_of(table["brokers"])
    ids = table["subscriber"].to_numpy()
    return Rows(ids, topic_offsets, topics, broker_offsets, brokers)


def runs_on_disk(assignment: pa.Table) -> Runs:
    return Runs(*(assignment[c].to_numpy() for c in ("topic", "broker", "pairs")))
