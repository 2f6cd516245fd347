"""What the experiments' checks find, and that they share no code with planners."""

from collections import Counter
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.test_imports import imports_of
from tests.tiers import examples

from brokerwise.model.arrays import Float64s
from brokerwise.model.colocation import ColocationPlan, TopicTable
from brokerwise.model.names import Names
from brokerwise.model.network import Network
from brokerwise.model.placement import Placement
from brokerwise.model.workload import Workload
from brokerwise.pipeline.networks.generate import NetworkSettings, generate
from brokerwise.planners.balance.problem import Options as BalanceOptions
from brokerwise.planners.colocate.problem import Options, Problem
from brokerwise.planners.colocate.solve import solve
from brokerwise.reproduce import checks
from brokerwise.reproduce.checks import (
    Served,
    Traffic,
    access_problems,
    core_problems,
    cost_problems,
    count_served,
    filling_order_problems,
    filling_problems,
    monotone_problems,
    placement_problems,
    plan_problems,
    recounted,
    request_problems,
    simulation_problems,
    wiring_order_problems,
)
from brokerwise.reproduce.colocate_models import (
    PARTS,
    TEST,
    TRAIN,
    Lots,
    learned_problems,
    lots,
)
from brokerwise.reproduce.colocate_settings import QUICK, LearnCell
from brokerwise.runtime.balancing.balancer import BalancerSettings
from brokerwise.runtime.simulation.paper import Paper, paper_world
from brokerwise.runtime.simulation.result import SimulatedMove, SimulationResult
from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate

RATES, FOLLOWERS, CAPACITIES = [5, 3, 2], [2, 4, 1], [20, 12]
Entry = tuple[int, int, int]  # topic, broker, pairs


def draft_wrong(entries: list[Entry], value: int) -> list[str]:
    columns = list(zip(*entries, strict=True)) or [(), (), ()]
    topic, broker = (np.array(column, np.int32) for column in columns[:2])
    pairs = np.array(columns[2], np.int64)
    rates, followers, capacities = (
        np.array(numbers, np.int64) for numbers in (RATES, FOLLOWERS, CAPACITIES)
    )
    draft = topic, broker, pairs
    return list(filling_problems(rates, followers, capacities, draft, value))


def right(entries: list[Entry], value: int) -> bool:
    """The load law and the rest, in plain words."""
    served, load = Counter[int](), Counter[int]()
    for topic, broker, pairs in entries:
        served[topic] += pairs
        load[broker] += RATES[topic] + RATES[topic] * pairs
    return (
        len({entry[:2] for entry in entries}) == len(entries)
        and all(pairs > 0 for _, _, pairs in entries)
        and all(served[topic] <= FOLLOWERS[topic] for topic in served)
        and all(load[broker] <= CAPACITIES[broker] for broker in load)
        and value == sum(RATES[topic] * count for topic, count in served.items())
    )


entries = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 3)), max_size=5
)


@given(entries, st.integers(0, 3))
def test_exactly_what_is_wrong_is_found(found: list[Entry], more: int) -> None:
    value = sum(RATES[topic] * pairs for topic, _, pairs in found) + max(0, more - 2)
    assert (draft_wrong(found, value) == []) == right(found, value)


def test_problems_say_what_and_how_much() -> None:
    assert draft_wrong([(0, 1, 2)], 10) == ["broker 1 carries 15 of 12"]
    assert draft_wrong([(2, 0, 2)], 4) == ["1 topics serve more than want it"]
    assert draft_wrong([(2, 0, 1)], 4) == ["says 4 is delivered, but it is 2"]
    assert draft_wrong([(1, 0, 1), (1, 0, 1)], 6) == ["a topic is twice on a broker"]
    assert draft_wrong([(3, 0, 1)], 0) == ["a topic or a broker that does not exist"]
    assert draft_wrong([(0, -1, 1)], 0) == ["a topic or a broker that does not exist"]


def test_nothing_may_be_above_the_bound_nor_columns_below_another() -> None:
    fine = {"greedy": 7, "mkp": 8, "columns": 8}
    assert list(filling_order_problems(fine, 8)) == []
    assert list(filling_order_problems(fine, 7)) == [
        "mkp delivers 8, above the bound of 7",
        "columns delivers 8, above the bound of 7",
    ]
    assert list(filling_order_problems({**fine, "columns": 7}, 9)) == [
        "columns delivers 7, less than mkp with 8"
    ]
    assert list(filling_order_problems({"greedy": 9, "mkp": 8}, None)) == []


USERS, BROKERS, SUBCHANNELS = 7, 3, 4


def network(seed: int) -> Network:
    return generate(NetworkSettings(USERS, BROKERS, SUBCHANNELS, width=0.5), seed)


def lightest(
    core: "np.ndarray[tuple[int, int], np.dtype[np.int64]]", of: set[int]
) -> int:
    """The weight of the lightest spanning tree, by trying all sets of links."""
    links = list(combinations(sorted(of), 2))
    best = None
    for chosen in combinations(links, len(of) - 1):
        joined = {min(of)}
        for _ in chosen:
            joined |= {e for link in chosen if joined & set(link) for e in link}
        weight = sum(int(core[link]) for link in chosen)
        if joined == of and (best is None or weight < best):
            best = weight
    return best or 0


def literal(net: Network, broker: list[int]) -> tuple[list[int], int, int]:
    """Loads of users, access and core, message by message."""
    rates = {
        (user, int(net.published.subchannels[k])): int(net.published.rates[k])
        for user in range(USERS)
        for k in range(net.published.offsets[user], net.published.offsets[user + 1])
    }
    wants = [
        set(net.wanted.subchannels[a:b].tolist())
        for a, b in zip(net.wanted.offsets, net.wanted.offsets[1:], strict=False)
    ]
    load, core = [0] * USERS, 0
    for (user, subchannel), rate in rates.items():
        fans = [u for u in range(USERS) if u != user and subchannel in wants[u]]
        if fans:
            load[user] += rate
            for fan in fans:
                load[fan] += rate
            homes = {broker[u] for u in range(USERS) if subchannel in wants[u]}
            core += rate * lightest(net.core, homes | {broker[user]})
    access = sum(load[u] * int(net.access[u, broker[u]]) for u in range(USERS))
    return load, access, core


@settings(max_examples=examples(40))
@given(
    st.integers(0, 1000),
    st.lists(st.integers(0, BROKERS - 1), min_size=USERS, max_size=USERS),
    st.integers(-1, 1),
)
def test_exactly_what_a_literal_count_finds_is_found(
    seed: int, broker: list[int], off: int
) -> None:
    net = network(seed)
    load, access, core = literal(net, broker)
    traffic, wiring = Traffic.of(net), np.array(broker, np.int32)
    assert traffic.load.tolist() == load
    over = any(
        sum(load[u] for u in range(USERS) if broker[u] == b) > net.capacity[b]
        for b in range(BROKERS)
    )
    found = list(access_problems(net, traffic, wiring, access + off))
    assert any("carries" in problem for problem in found) == over
    assert any("access costs" in problem for problem in found) == (off != 0)
    assert bool(list(core_problems(net.core, traffic, wiring, core + off))) == (
        off != 0
    )


def test_users_without_a_broker_that_they_know_are_found() -> None:
    net = generate(NetworkSettings(USERS, BROKERS, SUBCHANNELS, known=1), 1)
    traffic = Traffic.of(net)
    wrong = net.access.argmin(axis=1).astype(np.int32)  # -1 is the least
    (found, *_) = access_problems(net, traffic, wrong, 0)
    assert found == "7 users are on brokers that they do not know"
    for broker, said in (
        (wrong[:5], "5 of 7 users have a broker"),
        (np.full(USERS, 3, np.int32), "a user is on a broker that does not exist"),
        (np.full(USERS, -1, np.int32), "a user is on a broker that does not exist"),
    ):
        assert list(access_problems(net, traffic, broker, 0)) == [said]


@pytest.mark.parametrize(
    ("costs", "bound", "said"),
    [
        ({"greedy": 7, "local": 7}, 7, []),
        ({"greedy": 6}, 7, ["greedy costs 6, below the bound of 7"]),
        ({"greedy": 6, "local": 7}, 5, ["local costs 7, more than greedy with 6"]),
        ({"greedy": 6}, None, []),
    ],
)
def test_nothing_is_below_the_bound_nor_local_above_another(
    costs: dict[str, int], bound: int | None, said: list[str]
) -> None:
    assert list(wiring_order_problems(costs, bound)) == said


@pytest.fixture(scope="module")
def honest_run() -> SimulationResult:
    asked = SimulationOptions(
        "nearest", BalancerSettings(BalanceOptions("ldm", alpha=0.1))
    )
    return simulate(paper_world(Paper(3, 60, 20, 600), 4), asked)


def test_a_run_as_it_is_has_no_problems(honest_run: SimulationResult) -> None:
    assert honest_run.moves
    assert simulation_problems(honest_run) == []
    assert recounted(honest_run.end) == honest_run.end.loads().tolist()


def test_loads_that_are_not_so_are_found(honest_run: SimulationResult) -> None:
    loads = honest_run.loads.copy()
    loads[-1, 1] += 1
    found = simulation_problems(replace(honest_run, loads=loads))
    assert len(found) == 1 and found[0].startswith("says loads end as")


def test_a_bound_above_the_maximum_is_found(honest_run: SimulationResult) -> None:
    most = int(honest_run.loads[-1].max())
    found = simulation_problems(replace(honest_run, bound=most + 1))
    assert found == [f"max load {most:,} is below the bound of {most + 1:,}"]


def test_sessions_that_are_elsewhere_are_found(honest_run: SimulationResult) -> None:
    sessions = np.roll(honest_run.sessions, 1, axis=1)
    found = simulation_problems(replace(honest_run, sessions=sessions))
    assert len(found) == 1 and found[0].startswith("says sessions end as")


def test_a_cov_that_is_not_so_is_found(honest_run: SimulationResult) -> None:
    wrong = replace(honest_run)
    wrong.__dict__["cov"] = honest_run.cov + 0.01
    found = simulation_problems(wrong)
    assert len(found) == 1 and found[0].startswith("says cov is 0.010000 at 0 s")


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        ((SimulatedMove(1.0, 5, 2, 2),), "user 5 moves to where it is at 1 s"),
        (
            (SimulatedMove(1.0, 5, 2, 1), SimulatedMove(9.0, 5, 2, 0)),
            "user 5 leaves broker 2 at 9 s, but was moved to 1",
        ),
    ],
)
def test_moves_that_cannot_be_are_found(
    honest_run: SimulationResult, moves: tuple[SimulatedMove, ...], said: str
) -> None:
    assert simulation_problems(replace(honest_run, moves=moves)) == [said]


# Rates 5, 3, 1 of topics 0, 1, 2; the third subscriber is not asked for more than 1.
SMALL = Workload.from_pairs(
    topics=[0, 1, 2, 0, 1, 2],
    subscribers=["a", "a", "a", "b", "b", "c"],
    rates=[5, 3, 1],
)


def served(*lists: list[int], threshold: int = 6, blocks: int = 1) -> Served:
    """What is found of one list for each subscriber, cut into blocks."""

    def arrays(part: tuple[list[int], ...]) -> tuple[Any, Any]:
        sizes = np.cumsum([0, *map(len, part)])
        return sizes.astype(np.int64), np.array([t for x in part for t in x], np.int32)

    step = -(-len(lists) // blocks) or 1
    parts = [lists[i : i + step] for i in range(0, len(lists), step)]
    return count_served(SMALL, threshold, map(arrays, parts))


def test_a_right_selection_has_no_problems_however_it_is_cut() -> None:
    for blocks in (1, 2, 3):
        found = served([0, 2], [0, 1], [2], blocks=blocks)
        assert list(found.problems(3)) == []
        assert found.counts.tolist() == [2, 1, 2]


def test_each_mistake_is_named() -> None:
    assert list(served([0], [0, 1], [2]).problems(3)) == [
        "1 subscribers get less than they need"
    ]
    assert list(served([0, 2], [0, 1, 2], [2]).problems(3)) == [
        "1 pairs are selected that nobody wants"
    ]
    assert list(served([0, 0], [0, 1], [2]).problems(3)) == [
        "1 pairs are selected twice"
    ]
    assert list(served([0, 2], [0, 1]).problems(3)) == [
        "2 of 3 subscribers have a list"
    ]


def test_thresholds_of_their_own_count() -> None:
    own = Workload(
        SMALL.rates,
        SMALL.interests,
        SMALL.topic_names,
        SMALL.subscriber_names,
        thresholds=np.array([9, -1, 0]),
    )
    lists = np.array([0, 1, 2, 2], np.int64), np.array([0, 1], np.int32)
    assert count_served(own, 3, [lists]).short == 1  # a: 5 of 9


@given(
    chosen=st.lists(st.sets(st.integers(0, 2)), min_size=3, max_size=3),
    threshold=st.integers(0, 12),
)
def test_counts_are_those_of_plain_python(
    chosen: list[set[int]], threshold: int
) -> None:
    rates, wants = (5, 3, 1), ({0, 1, 2}, {0, 1}, {2})
    found = served(*map(sorted, chosen), threshold=threshold)
    short = sum(
        sum(rates[t] for t in got) < min(threshold, sum(rates[t] for t in want))
        for got, want in zip(chosen, wants, strict=True)
    )
    unwanted = sum(len(g - w) for g, w in zip(chosen, wants, strict=True))
    assert (found.short, found.unwanted, found.repeated) == (short, unwanted, 0)
    assert found.counts.tolist() == [sum(t in g for g in chosen) for t in range(3)]


def misplaced(topic: list[int], broker: list[int], pairs: list[int]) -> list[str]:
    placement = Placement(np.array(topic), np.array(broker), np.array(pairs))
    return list(
        placement_problems(
            SMALL.rates, np.array([2, 1, 2]), np.array([15, 9]), placement
        )
    )


def test_a_broker_may_be_full_but_not_over_its_capacity() -> None:
    # 5 * 3 = 15 on the first; 3 * 2 + 1 * 3 = 9 on the second.
    assert misplaced([0, 1, 2], [0, 1, 1], [2, 1, 2]) == []
    assert misplaced([0, 1, 2], [0, 0, 1], [2, 1, 2]) == [
        "1 brokers are over their capacity, broker 0 with 21 of 15"
    ]
    # The stream that comes in counts on every broker of a topic.
    assert misplaced([0, 0, 1, 2], [0, 1, 0, 1], [1, 1, 1, 2]) == [
        "2 brokers are over their capacity, broker 1 with 13 of 9"
    ]


def test_pairs_that_were_lost_are_named() -> None:
    assert misplaced([0, 1], [0, 1], [2, 1]) == [
        "1 topics have more or fewer pairs placed than selected"
    ]


def test_a_cost_that_should_not_be_above_another_is_named() -> None:
    assert list(cost_problems([("a", 1.0, "b", 1.0), ("c", 1.0, "d", 2.0)])) == []
    assert list(cost_problems([("bound", 1.5, "plan", 1.25)])) == [
        "bound costs 1.500000, more than plan (1.250000)"
    ]


class Loads:
    """Predicts 10 ms for each part in 100 of all topics' load."""

    most_topics = 3
    monotone = True

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        loads = processing_ms * rate_per_second
        total = np.broadcast_to(loads.sum(axis=1, keepdims=True), loads.shape)
        return np.asarray(total, np.float64)


class Odd(Loads):
    """Predicts less when there are more topics."""

    def p90_ms(self, processing_ms: Float64s, rate_per_second: Float64s) -> Float64s:
        count = processing_ms.shape[1]
        return np.asarray(np.full(processing_ms.shape, 100.0 / count), np.float64)


TOPICS = TopicTable(
    Names.numbered(6),
    np.full(6, 10.0),
    np.array([40.0, 35.0, 30.0, 30.0, 20.0, 10.0]),
    np.full(6, 1000.0),
)


@pytest.fixture(scope="module")
def honest_plan() -> ColocationPlan:
    return solve(Problem(TOPICS, Loads(), 3), Options("ffd"))


def plan_wrong(plan: ColocationPlan, k: int = 3) -> list[str]:
    return plan_problems(plan, TOPICS, Loads(), k)


def moved(plan: ColocationPlan, **columns: Any) -> ColocationPlan:
    return replace(plan, replicas=replace(plan.replicas, **columns))


def test_a_plan_as_it_is_has_no_problems(honest_plan: ColocationPlan) -> None:
    assert honest_plan.objective == 2
    assert plan_wrong(honest_plan) == []


def test_a_topic_that_is_placed_twice_is_found(honest_plan: ColocationPlan) -> None:
    topic = honest_plan.replicas.topic.copy()
    topic[1] = 0
    found = plan_wrong(moved(honest_plan, topic=topic))
    assert "topic 0 is placed 2 times" in found


def test_too_many_topics_of_a_broker_are_found(honest_plan: ColocationPlan) -> None:
    assert plan_wrong(honest_plan, k=2) == ["a broker has 3 topics, more than 2"]


def test_a_broker_that_is_predicted_to_miss_is_found(
    honest_plan: ColocationPlan,
) -> None:
    broker = np.array([0, 0, 0, 1, 1, 1], np.int32)
    found = plan_wrong(moved(honest_plan, broker=broker))
    assert found == ["topic 0 on broker 0 is predicted 1,050.0 ms, more than 900.0 ms"]


def test_predictions_that_the_model_does_not_make_are_found(
    honest_plan: ColocationPlan,
) -> None:
    predicted = honest_plan.replicas.predicted_p90_ms * 0.9
    found = plan_wrong(moved(honest_plan, predicted_p90_ms=predicted))
    assert found == ["predictions on broker 0 are not what the model says"]


def test_a_bound_above_the_plan_and_wrong_numbers_are_found(
    honest_plan: ColocationPlan,
) -> None:
    found = plan_wrong(replace(honest_plan, bound=3, objective=4))
    assert found == [
        "says 4 brokers, but they are 2",
        "says that no plan has fewer than 3, but has 2",
    ]


def test_rates_that_were_not_asked_for_are_found(honest_plan: ColocationPlan) -> None:
    rates = honest_plan.replicas.rate_per_second / 2
    found = plan_wrong(moved(honest_plan, rate_per_second=rates))
    assert found == ["a topic does not have the rate that it was asked for"]


def test_no_plan_at_all_is_a_problem() -> None:
    fast = replace(TOPICS, rate_per_second=np.full(6, 99.0))
    plan = solve(Problem(fast, Loads(), 3), Options("ffd"))
    (found,) = plan_problems(plan, fast, Loads(), 3)
    assert found.startswith("has no plan: topic")


def test_a_search_that_is_worse_and_a_bound_that_another_plan_beats_are_found() -> None:
    runs = [
        {"label": "ffd", "brokers": 4, "bound": 5},
        {"label": "search", "brokers": 5, "bound": 3},
    ]
    assert list(request_problems(runs)) == [
        "search has 5 brokers, ffd 4",
        "ffd says that no plan has fewer than 5 brokers, but there is one with 4",
    ]
    runs = [{"label": "ffd", "brokers": 4, "bound": 4}]
    assert list(request_problems(runs)) == []


def test_a_model_that_falls_when_a_topic_is_added_is_found() -> None:
    assert list(monotone_problems(Loads(), (10.0, 20.0), (9, 5), 0)) == []
    found = list(monotone_problems(Odd(), (10.0, 20.0), (9, 5), 0))
    assert found == [
        "removing a topic of 2 raises a prediction in 200 of 200 sets",
        "removing a topic of 3 raises a prediction in 200 of 200 sets",
    ]


SMALL_DATA = replace(QUICK, k=2, alone=20, each=20, validation=4, messages=20)


@pytest.fixture(scope="module")
def data() -> Lots:
    return lots(SMALL_DATA, 0, (1, 2))


def test_data_is_split_by_configuration_as_in_the_paper(data: Lots) -> None:
    group = data.subject.samples.group
    sizes = {
        (part, k): len(set(group[data.of(part, k)].tolist()))
        for part in PARTS
        for k in (1, 2)
    }
    assert sizes == {
        **{("train", 1): 12, ("test", 1): 8, ("validation", 1): 0},
        **{("train", 2): 19, ("test", 2): 1, ("validation", 2): 4},
    }
    fewer = lots(SMALL_DATA, 0, (2,), 5)
    assert len(fewer.parts[TRAIN]) == 10
    assert len(fewer.parts[TEST]) == 2


def test_what_is_wrong_with_a_model_is_found(data: Lots) -> None:
    cell = LearnCell("unified", 0, 0, SMALL_DATA, 0)
    logs = data.subject.samples.logs
    said = {part: logs[rows] for part, rows in data.parts.items()}
    assert learned_problems(data, said, lambda some: logs[some], cell) == []
    found = learned_problems(data, said, lambda some: logs[some] + 0.5, cell)
    assert found[0] == "the model, read again, differs by 0.5 on the train data"
    mixed = replace(data, parts={**data.parts, TEST: data.parts[TRAIN][:4]})
    said = {part: logs[rows] for part, rows in mixed.parts.items()}
    found = learned_problems(mixed, said, lambda some: logs[some], cell)
    assert found == ["4 configurations are for train and for test"]
    sized = replace(cell, size=7)
    found = learned_problems(data, {}, lambda some: logs[some], sized)
    assert found == ["k = 2: learned from 38 rows, not from 14"]


def test_checks_import_nothing_of_what_they_check() -> None:
    source = Path(checks.__file__ or "").read_text()
    made = {one.module for one in imports_of("brokerwise.reproduce.checks", source)}
    ours = {name.split(".")[1] for name in made if name.startswith("brokerwise.")}
    assert ours == {"auditing", "model", "runtime"}
    assert "brokerwise.runtime.simulation.result" in made  # what it judges
