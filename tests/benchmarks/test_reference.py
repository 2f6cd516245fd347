"""The C++ program of the published solution, against what its paper says."""

import shutil
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmarks.reference.program import (
    MODES,
    NoCompilerError,
    Run,
    build,
    check_sum,
    dump,
    run,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.kernels.selection import Rule, select_block
from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.model.interests import Interests
from brokerwise.model.load import broker_loads
from brokerwise.planners.provision.choice import carried
from brokerwise.planners.provision.packing.pack import pack
from brokerwise.planners.provision.packing.pieces import Demand

Wanted = list[list[int]]
Reference = Callable[..., Run]

needs_compiler = pytest.mark.skipif(
    shutil.which("g++") is None, reason="g++ is not installed"
)


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Reference:
    """Plan with the program for rates and lists of topics."""
    folder = tmp_path_factory.mktemp("reference")
    program = build(folder)

    def planned(
        rates: list[int],
        wanted: Wanted,
        mode: str = "scan",
        *,
        threshold: int,
        capacity: int,
        prices: Prices,
    ) -> Run:
        dump(np.array(rates, np.int64), interests_of(wanted), folder)
        options: dict[str, Any] = {"threshold": threshold, "capacity": capacity}
        return run(program, folder, mode, prices=prices, **options)

    return planned


@st.composite
def problems(draw: st.DrawFn) -> dict[str, Any]:
    rates = sorted(draw(st.lists(st.integers(0, 12), min_size=1, max_size=8)))[::-1]
    topics = st.sets(st.integers(0, len(rates) - 1)).map(sorted)
    usd = st.integers(0, 20).map(float)
    return {
        "rates": rates,
        "wanted": draw(st.lists(topics, max_size=8)),
        "threshold": draw(st.integers(0, 30)),
        "capacity": draw(st.integers(1, 60)),
        "prices": Prices((draw(usd),), draw(usd), draw(usd)),
    }


@needs_compiler
@settings(max_examples=examples(60))
@given(problems())
def test_every_mode_selects_what_the_paper_says(
    reference: Reference, problem: dict[str, Any]
) -> None:
    expected = [
        greedy(problem["rates"], topics, problem["threshold"], problem["capacity"])
        for topics in problem["wanted"]
    ]
    chosen = interests_of(expected)
    runs = [reference(**problem, mode=mode) for mode in MODES]
    for found in runs:
        assert found.result["selected"] == chosen.pairs
        assert found.result["check_sum"] == check_sum(0, chosen.offsets, chosen.topics)
        assert found.result == runs[0].result


@needs_compiler
@settings(max_examples=examples(60))
@given(problems())
def test_brokers_are_packed_as_the_paper_says_but_for_its_slips(
    reference: Reference, problem: dict[str, Any]
) -> None:
    rates, capacity, prices = (problem[k] for k in ("rates", "capacity", "prices"))
    counts = [0] * len(rates)
    for topics in problem["wanted"]:
        for topic in greedy(rates, topics, problem["threshold"], capacity):
            counts[topic] += 1
    result = reference(**problem).result
    loads, incoming = custom(rates, counts, capacity, prices)
    assert result["loads"] == loads
    assert result["incoming"] == incoming
    assert result["outgoing"] == sum(np.multiply(rates, counts))
    assert sum(loads) == result["incoming"] + result["outgoing"]
    usd = prices.cost([len(loads)], result["incoming"], result["outgoing"])
    assert result["cost"] == usd.total


@needs_compiler
@settings(max_examples=examples(60))
@given(problems())
def test_our_kernels_give_the_same_plan(
    reference: Reference, problem: dict[str, Any]
) -> None:
    rates = np.array(problem["rates"], np.int64)
    wanted, capacity = interests_of(problem["wanted"]), problem["capacity"]
    fleet = Fleet.types(BrokerType("a", capacity))
    needs = np.full(wanted.subscribers, problem["threshold"], np.int64)
    counts = np.zeros(len(rates), np.int64)
    lists = select_block(
        Rule("greedy"),
        carried(rates, fleet),
        0,
        wanted.offsets,
        wanted.topics,
        needs,
        counts,
    )
    demand = Demand(rates, counts, lambda: iter([lists]))
    packing = pack("custom", demand, fleet, problem["prices"], lambda: False)
    assert packing is not None
    runs, brokers = packing.placement, len(packing.broker_type)
    loads = broker_loads(rates, runs.topic, runs.broker, runs.pairs, brokers)
    result = reference(**problem).result
    assert result["check_sum"] == check_sum(0, *lists)
    assert result["loads"] == loads.tolist()
    assert result["runs"] == runs.runs


def test_without_a_compiler_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoCompilerError, match=r"apt install g\+\+"):
        build(tmp_path)


def test_check_sums_of_parts_add_up_to_that_of_the_whole() -> None:
    wanted = [[0, 2], [], [1], [0, 1, 2]]
    whole, head, tail = map(interests_of, (wanted, wanted[:2], wanted[2:]))
    parts = check_sum(0, head.offsets, head.topics)
    parts += check_sum(2, tail.offsets, tail.topics)
    assert parts % 2**64 == check_sum(0, whole.offsets, whole.topics)


def interests_of(wanted: Wanted) -> Interests:
    offsets = np.cumsum([0, *map(len, wanted)])
    topics = np.array([t for some in wanted for t in some], np.int32)
    return Interests(offsets, topics)


def greedy(rates: list[int], wanted: list[int], tau: int, capacity: int) -> list[int]:
    """Algorithms 1 and 2 in exact fractions; of equal ratios the larger rate."""
    remaining = min(tau, sum(rates[t] for t in wanted))
    left = {t for t in wanted if 0 < 2 * rates[t] <= capacity}
    chosen = []
    while remaining > 0 and left:
        ratio = {
            t: min(Fraction(1), Fraction(rates[t], remaining)) / (2 * rates[t])
            for t in left
        }
        best = max(left, key=lambda t: (ratio[t], rates[t], -t))
        left.remove(best)
        chosen.append(best)
        remaining -= rates[best]
    return sorted(chosen)


def custom(
    rates: list[int], counts: list[int], capacity: int, prices: Prices
) -> tuple[list[int], int]:
    """Algorithms 4 and 7 pair by pair: each broker's load, and all that is received."""
    brokers: list[dict[int, int]] = []
    by_volume = sorted(range(len(rates)), key=lambda t: (-rates[t] * counts[t], t))
    for topic in by_volume:
        pairs = counts[topic]
        if not pairs:
            continue
        if brokers and load(rates, whole := brokers[-1] | {topic: pairs}) <= capacity:
            brokers[-1] = whole
            continue
        fresh, spread = list(brokers), list(brokers)
        add_new(rates, fresh, topic, pairs, capacity)
        rest = add_roomiest(rates, spread, topic, pairs, capacity)
        add_new(rates, spread, topic, rest, capacity)
        new, old = worth(rates, fresh, prices), worth(rates, spread, prices)
        brokers = spread if old < new else fresh
    received = sum(rates[t] for broker in brokers for t in broker)
    return [load(rates, broker) for broker in brokers], received


def load(rates: list[int], broker: dict[int, int]) -> int:
    return sum(rates[t] * (1 + pairs) for t, pairs in broker.items())


def worth(
    rates: list[int], brokers: list[dict[int, int]], prices: Prices
) -> tuple[float, int]:
    received = sum(rates[t] for broker in brokers for t in broker)
    return len(brokers) * prices.brokers[0] + received * prices.incoming, len(brokers)


def add_roomiest(
    rates: list[int], brokers: list[dict[int, int]], topic: int, pairs: int, most: int
) -> int:
    """Fill the broker with most room, then the next; the pairs that are left."""
    loads = [load(rates, broker) for broker in brokers]
    for _, broker in sorted(zip(loads, range(len(brokers)), strict=True)):
        while pairs and load(rates, more := with_pair(brokers[broker], topic)) <= most:
            brokers[broker] = more
            pairs -= 1
    return pairs


def add_new(
    rates: list[int], brokers: list[dict[int, int]], topic: int, pairs: int, most: int
) -> None:
    while pairs:
        brokers.append({topic: 1})
        pairs -= 1
        while pairs and load(rates, more := with_pair(brokers[-1], topic)) <= most:
            brokers[-1] = more
            pairs -= 1


def with_pair(broker: dict[int, int], topic: int) -> dict[int, int]:
    return broker | {topic: broker.get(topic, 0) + 1}
