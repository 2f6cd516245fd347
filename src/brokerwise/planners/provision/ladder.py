"""What each step of the published solution, and then ours, takes off the cost."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from brokerwise.planners.provision.draft import Draft
from brokerwise.planners.provision.solve import Provisioning

STEPS = (
    ("naive", "random", "first-fit"),
    ("(a)", "greedy", "first-fit"),
    ("(b)", "greedy", "grouped"),
    ("(c)", "greedy", "grouped-largest"),
    ("(d)", "greedy", "most-free"),
    ("(e)", "greedy", "custom"),
    ("ours", "shared", "tight"),
)
"""The naive plan, the optimisations (a) to (e) of the paper's figures 2 and 3, ours."""
OURS = STEPS[-1][0]


@dataclass(frozen=True)
class Step:
    """One way to plan and what it comes to; None where limits left no packing."""

    name: str
    selection: str
    packing: str
    brokers: int | None
    load: int | None
    cost: float | None


def ladder(provisioning: Provisioning, draft: Draft) -> Iterator[Step]:
    """The steps one after the other, as they are planned; the last is the draft.

    `first-fit` looks at every pair on its own, which takes most of the time.
    """
    fleet, prices, topics = draft.fleet, draft.prices, draft.topics
    for name, selection, packing in STEPS:
        if name == OURS:
            selection, packing = draft.options["selection"], draft.options["packing"]
            found = draft.packing
        else:
            _, choice = provisioning.choice(fleet, selection)
            found = provisioning.pack(packing, topics, fleet, prices, choice)
        if found is None:
            yield Step(name, selection, packing, None, None, None)
            continue
        rates, runs = topics.rates, found.placement
        incoming = int(rates[runs.topic].sum())
        outgoing = int(rates[runs.topic] @ runs.pairs)
        number = np.bincount(found.broker_type, minlength=len(fleet.broker_types))
        cost = prices.cost(number.tolist(), incoming, outgoing)
        yield Step(
            name,
            selection,
            packing,
            len(found.broker_type),
            incoming + outgoing,
            cost.total,
        )
