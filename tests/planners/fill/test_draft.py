"""What drafts serve, deliver and load."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from tests.planners.fill.cases import ANY_TOPICS, demand_of
from tests.planners.fill.oracle import Topic, worth

from brokerwise.planners.fill.demand import Demand
from brokerwise.planners.fill.draft import Draft, served_value, taken_by_class


def draft_of(*rows: tuple[int, int, int]) -> Draft:
    """From (topic, broker, pairs)."""
    topic, broker, pairs = np.array(rows, np.int64).reshape(-1, 3).T
    return Draft(topic.astype(np.int32), broker.astype(np.int32), pairs)


@given(topics=ANY_TOPICS, data=st.data())
def test_the_best_pairs_are_served_first(
    topics: list[Topic], data: st.DataObject
) -> None:
    demand = demand_of(topics)
    served = [data.draw(st.integers(0, len(weights))) for _, weights in topics]
    expected = [worth(topic, n) for topic, n in zip(topics, served, strict=True)]
    assert served_value(demand, np.array(served)) == sum(expected)
    taken = taken_by_class(demand, np.array(served))
    assert np.bincount(demand.topic, taken, demand.topics).tolist() == served


def test_figure_1_of_the_paper() -> None:
    """Broker 1 carries p1 once and p2 twice; broker 2 p1 and p4, broker 3 p4 and p5,
    each once. Nobody gets p3 or p6."""
    rates = np.array([1, 20, 300, 4000, 50_000, 600_000])
    r1, r2, _, r4, r5, _ = rates.tolist()
    demand = Demand.of_counts(rates, np.array([2, 2, 1, 2, 1, 1]))
    draft = draft_of((0, 0, 1), (1, 0, 2), (0, 1, 1), (3, 1, 1), (3, 2, 1), (4, 2, 1))
    assert draft.loads(demand, 3).tolist() == [
        (r1 + r2) + (r1 + 2 * r2),
        (r1 + r4) + (r1 + r4),
        (r4 + r5) + (r4 + r5),
    ]
    assert draft.served(demand).tolist() == [2, 2, 0, 2, 1, 0]
    assert draft.value(demand) == 2 * r1 + 2 * r2 + 2 * r4 + r5


def test_a_draft_of_nothing_is_worth_nothing() -> None:
    demand = Demand.of_counts(np.array([3]), np.array([4]))
    assert draft_of().value(demand) == 0
    assert draft_of().loads(demand, 2).tolist() == [0, 0]
