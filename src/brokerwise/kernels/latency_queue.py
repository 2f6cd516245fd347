"""A broker whose topics are processed by workers that share its cores, event by event.

Each message goes through the broker's own loop, its topic's worker, and the loop again.
The loop and the workers are processes: each does one thing after the other, in order of
arrival. While no more of them are busy than there are cores, each has a core; otherwise
all that are busy get equal parts of the cores, as an operating system sees to it.

All busy processes run at one speed, so one clock that goes at this speed says when each
of them is done: a time on it, which does not change when others begin or end.
"""

from typing import NamedTuple

import numpy as np

from brokerwise.kernels.compile import kernel, leaf
from brokerwise.model.arrays import Float64s, Int64s

RECEIVE, WORK, DELIVER = range(3)
"""Rows of `costs`: processor time of a message before, in and after its worker."""


class Processes(NamedTuple):
    """What the workers, and last the loop, are doing, and what waits for them.

    `order` has the messages by topic, each topic's by time. Those of topic t from
    `begun[t]` on are not processed, those before `ready[t]` are at its worker. A task
    of the loop is a message to receive, or to deliver (as many further as there are
    messages); `line` has the first that is not done and the number of all.
    """

    done_at: Float64s  # on the clock that goes at their speed; infinite while idle
    order: Int64s
    begun: Int64s
    ready: Int64s
    tasks: Int64s
    line: Int64s


@kernel
def serve(
    sent: Float64s,
    topics: Int64s,
    costs: Float64s,
    cores: float,
    lost: float,
    until: float,
    delivered: Float64s,
) -> tuple[float, float]:
    """When each message is delivered, into `delivered`: ms, as all times here.

    Parameters
    ----------
    sent, topics
        Of each message, by time.
    lost
        Share of the cores that is lost while more processes are busy than there are
        cores.
    until
        When it ends; what is not delivered by then stays as it was.

    Returns the processor time used, and when it was over. O(messages * topics).
    """
    at = _idle(topics, costs.shape[1])
    now, clock, used, least = 0.0, 0.0, 0.0, np.inf
    busy, arrived = 0, 0
    while True:
        speed = 1.0 if busy <= cores else cores / busy * (1.0 - lost)
        arrival = sent[arrived] if arrived < len(sent) else np.inf
        due = now + (least - clock) / speed
        time = min(arrival, due)
        if time > until or time == np.inf:
            break
        used += (time - now) * min(float(busy), cores)
        if arrival <= due:
            clock += (arrival - now) * speed
            now = arrival
            busy += _line_up(at, arrived, topics, costs, clock)
            arrived += 1
        else:
            clock, now = least, due
            busy += _complete(at, topics, costs, clock, now, delivered)
        least = _least(at.done_at)
    if until < np.inf and busy > 0:
        used += (until - now) * min(float(busy), cores)
        now = until
    return used, now


@kernel
def _idle(topics: Int64s, count: int) -> Processes:
    offsets = np.zeros(count + 1, np.int64)
    for topic in topics:
        offsets[topic + 1] += 1
    offsets = np.cumsum(offsets)
    order = np.empty(len(topics), np.int64)
    at = offsets[:-1].copy()
    for message in range(len(topics)):
        topic = topics[message]
        order[at[topic]] = message
        at[topic] += 1
    return Processes(
        np.full(count + 1, np.inf),
        order,
        offsets[:-1].copy(),
        offsets[:-1].copy(),
        np.empty(2 * len(topics), np.int64),
        np.zeros(2, np.int64),
    )


@leaf
def _least(done_at: Float64s) -> float:
    least = np.inf
    for time in done_at:
        least = min(least, time)
    return least


@leaf
def _line_up(
    at: Processes, task: int, topics: Int64s, costs: Float64s, clock: float
) -> int:
    """A task for the loop; returns how many more processes are busy."""
    at.tasks[at.line[1]] = task
    at.line[1] += 1
    if at.line[1] - at.line[0] > 1:
        return 0
    _begin_task(at, topics, costs, clock)
    return 1


@leaf
def _begin_task(at: Processes, topics: Int64s, costs: Float64s, clock: float) -> None:
    task = at.tasks[at.line[0]]
    count = len(topics)
    loop = len(at.done_at) - 1
    if task < count:
        at.done_at[loop] = clock + costs[RECEIVE, topics[task]]
    else:
        at.done_at[loop] = clock + costs[DELIVER, topics[task - count]]


@leaf
def _complete(
    at: Processes,
    topics: Int64s,
    costs: Float64s,
    clock: float,
    now: float,
    delivered: Float64s,
) -> int:
    """What the clock has come to is done; returns how many more are busy, or fewer."""
    which = 0
    while at.done_at[which] > clock:
        which += 1
    if which < len(at.done_at) - 1:
        return _processed(at, which, topics, costs, clock)
    task = at.tasks[at.line[0]]
    at.line[0] += 1
    more = 0
    if at.line[0] < at.line[1]:
        _begin_task(at, topics, costs, clock)
    else:
        at.done_at[which] = np.inf
        more = -1
    if task >= len(topics):
        delivered[task - len(topics)] = now
        return more
    topic = topics[task]
    at.ready[topic] += 1
    if at.ready[topic] - at.begun[topic] == 1:
        at.done_at[topic] = clock + costs[WORK, topic]
        more += 1
    return more


@leaf
def _processed(
    at: Processes, topic: int, topics: Int64s, costs: Float64s, clock: float
) -> int:
    """A worker is done with a message, and begins the next if there is one."""
    message = at.order[at.begun[topic]]
    at.begun[topic] += 1
    more = 0
    if at.begun[topic] < at.ready[topic]:
        at.done_at[topic] = clock + costs[WORK, topic]
    else:
        at.done_at[topic] = np.inf
        more = -1
    return more + _line_up(at, len(topics) + message, topics, costs, clock)
