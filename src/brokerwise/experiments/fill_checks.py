"""Whether a filling is what it says, counted again.

Nothing of the planners or kernels is used here: the load law and what is delivered
are stated again, in numpy.
"""

from collections.abc import Iterator, Mapping

import numpy as np

from brokerwise.model.arrays import Int32s, Int64s


def draft_problems(
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
    if len(topic) and not _within(topic, len(rates), broker, len(capacities)):
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


def order_problems(values: Mapping[str, int], bound: int | None) -> Iterator[str]:
    """What delivers more than it can, or less than ours must."""
    for name, value in values.items():
        if bound is not None and value > bound:
            yield f"{name} delivers {value:,}, above the bound of {bound:,}"
    ours = values.get("columns")
    if ours is not None and ours < max(values.values()):
        best = max(values, key=lambda name: values[name])
        yield f"columns delivers {ours:,}, less than {best} with {values[best]:,}"


def _within(topic: Int64s, topics: int, broker: Int64s, brokers: int) -> bool:
    return bool(
        min(topic.min(), broker.min()) >= 0
        and topic.max() < topics
        and broker.max() < brokers
    )
