"""The world of Nguyen et al., section 6.2."""

from dataclasses import replace

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.runtime.balancing.placement import POLICIES, Candidate
from brokerwise.runtime.simulation.paper import Paper, RisingRates, paper_world
from brokerwise.runtime.simulation.simulator import InitialPlacement

WORLD = paper_world(Paper(), seed=1)


def test_it_has_the_sizes_of_the_paper() -> None:
    subscriptions = WORLD.subscriptions
    assert (WORLD.brokers, WORLD.users, WORLD.topics) == (10, 10_000, 1_000)
    each = np.bincount(subscriptions.user, minlength=10_000)
    assert (each.min(), each.max()) == (10, 30)
    assert abs(len(subscriptions.user) - 200_000) < 2_000
    pairs = np.stack((subscriptions.user, subscriptions.topic))
    assert len(np.unique(pairs, axis=1).T) == len(subscriptions.user)
    assert len(WORLD.visits.at(0)) == 10_000
    assert 479 < subscriptions.begin.max() < 480


def test_every_topic_is_wanted_about_as_often() -> None:
    followers = np.bincount(WORLD.subscriptions.topic, minlength=1_000)
    assert followers.std() < 1.2 * np.sqrt(followers.mean())


def test_nearest_placement_is_skewed() -> None:
    placing = InitialPlacement(WORLD, "nearest", 0)
    placing.place(WORLD.visits.at(0))
    sessions = np.sort(np.bincount(placing.places))
    assert sessions[-1] > 2_000 > sessions[-2]
    assert sessions[0] < 500


@pytest.mark.parametrize("policy", POLICIES)
def test_users_go_where_a_coordinator_would_send_them(policy: str) -> None:
    """Also those who are as near to several brokers."""
    world = paper_world(Paper(7, 200, 10, 60), 1)
    halves = np.round(world.user_points * 2) / 2
    world = replace(world, user_points=halves)
    placing = InitialPlacement(world, policy, 0)
    placing.place(np.arange(0, 200, 2, dtype=np.int32))
    first = placing.places.copy()
    placing.place(np.arange(200, dtype=np.int32))
    assert (first[1::2] == -1).all()
    assert (placing.places[::2] == first[::2]).all()
    names = [
        Candidate(f"b{number}", (x, y))
        for number, (x, y) in enumerate(world.broker_points.tolist())
    ]
    turns = [*range(0, 200, 2), *range(1, 200, 2)]
    expected = [
        int(POLICIES[policy](names, (x, y), turn)[1:])
        for turn, (x, y) in enumerate(halves[turns].tolist())
    ]
    assert placing.places[turns].tolist() == expected


def test_rates_are_normal_at_first_and_then_rise_and_fall() -> None:
    base = WORLD.rates(0)
    assert abs(base.mean() - 20_000) < 500
    assert abs(base.std() - 5_000) < 400
    shares = np.array([WORLD.rates(60 * minute) / base for minute in range(31)])
    assert shares.min() > 0.99
    assert 2.9 < shares.max() < 3.01
    assert 0.05 < (shares[20] < 1.01).mean() < 0.5
    assert WORLD.rates(1_000).dtype == np.int64


def test_a_topic_takes_three_minutes_to_rise_and_falls_four_to_six_after_it_began() -> (
    None
):
    rising = WORLD.rates
    assert isinstance(rising, RisingRates)
    first = int(rising.topic[0])
    begin, turn, factor = rising.begin[0], rising.turn[0], rising.factor[0]
    assert 240 <= turn - begin <= 360
    base = rising.base[first]
    for time, share in ((begin, 0), (begin + 90, 0.5), (turn, 1), (turn + 180, 0)):
        expected = base * (1 + share * (factor - 1))
        assert abs(rising(time)[first] - expected) <= 1
    for topic in range(1_000):
        own = rising.topic == topic
        assert (rising.begin[own][1:] >= rising.turn[own][:-1] + 180).all()


def test_the_same_seed_gives_the_same_world_and_another_another() -> None:
    small = Paper(3, 50, 20, 300)
    one, same, other = (paper_world(small, seed) for seed in (1, 1, 2))
    for field in ("user", "topic", "begin"):
        assert (
            getattr(one.subscriptions, field) == getattr(same.subscriptions, field)
        ).all()
    assert (one.user_points == same.user_points).all()
    assert (one.rates(200) == same.rates(200)).all()
    assert (one.rates(200) != other.rates(200)).any()
    assert (one.user_points != other.user_points).any()


def test_subscriptions_do_not_depend_on_the_number_of_brokers() -> None:
    few, many = (paper_world(Paper(n, 50, 20, 300), 1) for n in (2, 9))
    assert (few.subscriptions.topic == many.subscriptions.topic).all()
    assert (few.rates(200) == many.rates(200)).all()


def test_who_wants_more_topics_than_there_are_wants_all() -> None:
    world = paper_world(Paper(2, 5, 4, 300), 1)
    assert np.bincount(world.subscriptions.user).tolist() == [4] * 5


@pytest.mark.parametrize(
    "wrong", [{"brokers": 0}, {"subscribers": 10**8}, {"topics": 0}, {"seconds": -1.0}]
)
def test_impossible_sizes_are_refused(wrong: dict[str, int]) -> None:
    with pytest.raises(InputError, match=next(iter(wrong))):
        Paper(**wrong)  # type: ignore[arg-type]
