"""Packings against their literal forms, an independent check, and the optimum."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from tests.kernels.interpreted import interpreted
from tests.planners.provision.packing import literal
from tests.planners.provision.packing.cases import (
    Case,
    as_brokers,
    cases,
    check_sound,
    many_topics,
    never,
    nowhere,
)

from brokerwise.kernels import packing_steps, packing_tight
from brokerwise.model.arrays import Int32s, Int64s
from brokerwise.model.errors import InputError
from brokerwise.model.fleet import BrokerType, Fleet, Prices
from brokerwise.planners.provision.packing import attempt, pieces
from brokerwise.planners.provision.packing.pack import PACKINGS, pack
from brokerwise.planners.provision.packing.pieces import Demand

BY_TOPIC = ("grouped", "grouped-largest", "most-free", "custom")


def literally(name: str, case: Case) -> literal.Fleet | None:
    if name == "first-fit":
        pairs = [t for topics in case.lists for t in topics]
        return literal.first_fit(case.rates, case.types, pairs)
    return literal.by_topic(name, case.rates, case.counts, case.types, case.incoming)


@pytest.mark.parametrize("name", PACKINGS)
@given(case=cases(limits=True))
def test_packings_are_sound(name: str, case: Case) -> None:
    found = case.pack(name)
    if found is None:
        assert any(limit is not None for _, _, limit in case.types)
    else:
        check_sound(case, found)


@pytest.mark.parametrize("name", ["first-fit", *BY_TOPIC])
@given(case=cases(limits=True, subscribers=12))
def test_published_packings_are_what_their_text_says(name: str, case: Case) -> None:
    found, expected = case.pack(name), literally(name, case)
    if found is None or expected is None:
        assert found is None and expected is None
    else:
        assert as_brokers(found) == (expected.kinds, expected.brokers)


@given(case=cases(subscribers=12))
def test_first_fit_serves_subscribers_in_order(case: Case) -> None:
    """The runs of a topic are where its first, its next pairs went."""
    found, expected = case.pack("first-fit"), literal.Fleet(case.rates, case.types)
    assert found is not None
    went: dict[int, list[int]] = {}
    for t in (t for topics in case.lists for t in topics):
        open_brokers = range(len(expected.brokers))
        b = next((b for b in open_brokers if not expected.put_pairs(b, t, 1)), None)
        if b is None:
            b = expected.new(case.rates[t])
            assert b is not None
            expected.put_pairs(b, t, 1)
        went.setdefault(t, []).append(b)
    runs = found.placement
    for t, brokers in went.items():
        mine = runs.topic == t
        assert np.repeat(runs.broker[mine], runs.pairs[mine]).tolist() == brokers


@given(case=cases(limits=True, subscribers=3))
def test_no_packing_is_better_than_the_optimum(case: Case) -> None:
    best = literal.optimum(case.items, case.types, case.incoming)
    for name in PACKINGS:
        found = case.pack(name)
        assert found is None or (best is not None and best <= case.key(found))


@pytest.mark.parametrize("name", PACKINGS)
def test_a_topic_may_take_all_of_a_broker(name: str) -> None:
    case = Case((5, 5), ((0, 1), (0,)), ((10, 1, None),))
    found = case.pack(name)
    assert found is not None
    check_sound(case, found)
    assert len(found.broker_type) == 3


@pytest.mark.parametrize("name", PACKINGS)
def test_nothing_selected_needs_no_broker(name: str) -> None:
    found = Case((5, 0), ((), ()), ((10, 1, None),)).pack(name)
    assert found is not None
    assert len(found.broker_type) == found.placement.runs == 0


@pytest.mark.parametrize("name", PACKINGS)
def test_no_topics_need_no_broker(name: str) -> None:
    found = Case((), (), ((10, 1, None),)).pack(name)
    assert found is not None
    assert len(found.broker_type) == 0


@pytest.mark.parametrize("name", PACKINGS)
def test_limits_that_are_too_low_leave_no_packing(name: str) -> None:
    case = Case((5, 5), ((0, 1), (0,)), ((10, 1, 2),))
    assert case.pack(name) is None


@pytest.mark.parametrize("name", PACKINGS)
def test_only_large_brokers_get_what_only_they_can_carry(name: str) -> None:
    case = Case((9, 1, 1), ((0, 1, 2), (1, 2)), ((4, 1, None), (18, 50, None)), 1.0)
    found = case.pack(name)
    assert found is not None
    check_sound(case, found)
    assert 1 in found.broker_type


@pytest.mark.parametrize("name", PACKINGS)
@given(case=cases(limits=True, subscribers=4))
def test_packings_are_the_same_in_plain_python(name: str, case: Case) -> None:
    found = case.pack(name)
    modules = (packing_steps, packing_tight, attempt, pieces)
    with interpreted(*modules):
        again = pack(name, case.demand, case.fleet, case.prices, never, 600)
    shorter = pack(name, case.demand, case.fleet, case.prices, never, 600)
    assert (found is None) == (again is None) == (shorter is None)
    if again is not None and shorter is not None:
        assert as_brokers(again) == as_brokers(shorter)


@pytest.mark.parametrize("name", PACKINGS)
def test_many_topics_on_many_brokers_are_packed_soundly(name: str) -> None:
    rates, counts = many_topics(2_000)
    rates, most = np.minimum(rates, 60), int(counts.max())

    def lists() -> Iterator[tuple[Int64s, Int32s]]:
        for subscriber in range(most):
            topics = np.flatnonzero(counts > subscriber).astype(np.int32)
            yield np.array([0, len(topics)]), topics

    capacities = np.array([3 * rates[0], 2 * rates[0]])
    fleet = Fleet(tuple(BrokerType(f"{c}", int(c)) for c in capacities))
    prices = Prices((3.0, 2.0), 1.0, 1.0)
    found = pack(name, Demand(rates, counts, lists), fleet, prices, never)
    assert found is not None
    runs = found.placement
    loads = np.zeros(len(found.broker_type), np.int64)
    np.add.at(loads, runs.broker, rates[runs.topic] * (runs.pairs + 1))
    served = np.bincount(runs.topic, runs.pairs, len(rates))
    assert (served == counts).all()
    assert (loads <= capacities[found.broker_type]).all()
    assert runs.runs > np.count_nonzero(counts) + 64
    assert len(loads) > 64 and loads.min() > 0


def test_brokers_that_carry_nothing_are_left_out() -> None:
    cuts = np.array([[1, 4, 2], [1, 2, 1]])
    types, home = np.array([7, 8, 9, 7, 6], np.int32), np.array([2, -1], np.int32)
    kept = pieces.Pieces(types, home, cuts).without_idle()
    assert kept.broker_type.tolist() == [9, 6]
    assert kept.home.tolist() == [0, -1]
    assert kept.cuts.tolist() == [[1, 1, 2], [1, 0, 1]]


@pytest.mark.parametrize(
    ("rates", "message"),
    [((6, 1), "it needs 12, the largest broker has 10"), ((5, 0), "rate 0")],
)
def test_what_no_broker_can_carry_is_refused(
    rates: tuple[int, ...], message: str
) -> None:
    case = Case(rates, ((0, 1),), ((10, 1, None),))
    with pytest.raises(ValueError, match=message):
        case.pack("custom")


def test_a_load_past_64_bits_is_refused() -> None:
    huge = np.array([2**60], np.int64)
    fleet = Fleet((BrokerType("a", 2**62),))
    with pytest.raises(InputError, match="total load"):
        pack(
            "tight",
            Demand(huge, np.array([9]), nowhere),
            fleet,
            Prices((1.0,), 0, 0),
            never,
        )


def test_an_unknown_packing_is_refused() -> None:
    with pytest.raises(ValueError, match="found 'tightest', expected first-fit"):
        Case((1,), ((0,),), ((10, 1, None),)).pack("tightest")
