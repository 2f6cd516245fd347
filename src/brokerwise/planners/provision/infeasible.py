"""Why there is no plan, in words and numbers."""

import numpy as np

from brokerwise.kernels.selection import Survey
from brokerwise.model.fleet import Fleet
from brokerwise.planners.provision.scan import Scan


def out_of_reach(scan: Scan, survey: Survey, fleet: Fleet) -> str:
    """Some subscriber cannot do without a topic that no broker can carry."""
    largest = fleet.largest_capacity
    subscriber = survey.example
    need, wanted = scan.wanted(subscriber)
    rates = scan.rates[wanted]
    need = min(need, int(rates.sum()))
    # From the least rate up: the first topic with which the need is reached.
    enough = int(np.argmax(np.cumsum(rates[::-1]) >= need))
    topic, rate = int(wanted[::-1][enough]), int(rates[::-1][enough])
    others = survey.unreachable - 1
    also = f", and so it is for {others:,} more" if others else ""
    return (
        f'subscriber "{scan.subscriber_name(subscriber)}" needs topic '
        f'"{scan.topic_name(topic)}" (rate {rate:,}), which no broker can carry: it '
        f"needs {2 * rate:,}, the largest broker has {largest:,}{also}\n"
        f"The smallest capacity that works is {2 * survey.needed_rate:,}."
    )


def no_packing(load: int, fleet: Fleet) -> str:
    """The fleet is limited, and what must be carried was not fitted in."""
    room = sum(t.capacity * (t.count or 0) for t in fleet)
    if load > room:
        return f"the load is at least {load:,}, all brokers together have {room:,}"
    return (
        f"no way was found to fit the load (at least {load:,}) into all brokers "
        f"together, which have {room:,}"
    )
