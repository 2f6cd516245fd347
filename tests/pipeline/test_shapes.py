"""The published facts, on the distributions and on blocks drawn from them.

Facts: Setty et al. (2014), appendix D. What is drawn is compared with a tolerance of
about four standard deviations, or a few percent where a figure is "around" in print.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import InputError
from brokerwise.pipeline.shapes import (
    BLOCK,
    GOLDEN,
    SHAPES,
    SILVER,
    SPOTIFY,
    TWITTER,
    Scatter,
    Shape,
    Size,
    followings,
    followings_cdf,
    make_recipe,
    popularity,
    rate_ladder,
)

FULL_TWITTER = Size(TWITTER, 1)
shapes = st.sampled_from([SPOTIFY, TWITTER])
small_scales = st.floats(1e-5, 3e-4)


def whole_trace(size: Size, seed: int) -> tuple[Int64s, Int64s, Int64s]:
    """Topics and subscribers of all pairs, and all rates."""
    recipe, rates = make_recipe(size, seed)
    blocks = [recipe.block(number) for number in range(recipe.blocks)]
    topics, subscribers = (np.concatenate(part) for part in zip(*blocks, strict=True))
    return topics, subscribers, rates


def test_twitter_followings_at_scale_1() -> None:
    share = 1 - followings_cdf(FULL_TWITTER)  # share[k-1] follow more than k
    people = FULL_TWITTER.subscribers * share
    exactly = -np.diff(people)  # exactly[k-2] follow k
    assert (share.sum() + 1) * FULL_TWITTER.subscribers == pytest.approx(683.5e6)
    assert people[10_000 - 1] == pytest.approx(550, abs=10)
    assert exactly[20 - 2] > 3 * exactly[19 - 2]
    assert exactly[20 - 2] > 3 * exactly[21 - 2]
    assert exactly[2000 - 2] > 100 * exactly[1999 - 2]
    assert exactly[2000 - 2] > 100 * exactly[2001 - 2]


def test_twitter_followers_at_scale_1() -> None:
    followers = popularity(FULL_TWITTER)
    each = followers.by_rank()
    assert len(each) == 8_000_000
    assert each.sum() == pytest.approx(683.5e6)
    assert (each > 1e6).sum() == pytest.approx(66, abs=1)
    assert (each > 1e4).sum() == pytest.approx(4000, rel=0.01)
    assert (np.diff(followers.followers) <= 0).all()


def test_twitter_rates_at_scale_1() -> None:
    rates = rate_ladder(8_000_000)
    assert rates.min() == 1
    assert rates.sum() == pytest.approx(455e6, rel=0.005)
    assert (rates < 10).sum() == pytest.approx(4e6, rel=0.001)
    assert (rates > 1000).sum() == pytest.approx(46_000, rel=0.001)
    assert (rates > 100_000).sum() == 1


def test_twitter_subscribers_at_scale_1_receive_what_is_published() -> None:
    recipe, rates = make_recipe(FULL_TWITTER, seed=3)
    topics, subscribers = recipe.block(17)
    received = np.bincount(subscribers - 17 * BLOCK, rates[topics])
    assert len(received) == BLOCK
    assert len(topics) / BLOCK == pytest.approx(22.8, rel=0.05)
    assert (received > 7000).mean() == pytest.approx(3 / 30, rel=0.1)
    longest = followings(recipe.cdf, np.array([1 - 0.5 / 30e6]))
    most = rates[recipe.numbering(recipe.bins.draw(longest, 1).astype(np.int64))].sum()
    assert most == pytest.approx(18e6, rel=0.1)


def test_mean_rate_grows_with_followers_to_100_000_and_falls_beyond() -> None:
    size = Size(TWITTER, 0.2)
    recipe, rates = make_recipe(size, seed=5)
    by_rank = rates[recipe.numbering(np.arange(size.topics))]
    decade = np.digitize(popularity(size).by_rank(), [1e2, 1e3, 1e4, 1e5, 1e6])
    means = [float(by_rank[decade == d].mean()) for d in range(6)]
    assert means[0] < means[1] < means[2] < means[3]
    assert means[3] > means[4] > means[5]
    assert means[3] > 5 * means[0]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_small_twitter_trace_keeps_the_distributions(seed: int) -> None:
    size = Size(TWITTER, 0.004)
    topics, subscribers, rates = whole_trace(size, seed)
    follows = np.bincount(subscribers, minlength=size.subscribers)
    followers = np.bincount(topics, minlength=size.topics)
    assert len(rates) == size.topics == 32_000
    assert follows.min() >= 1
    assert len(topics) == pytest.approx(683.5e6 * 0.004, rel=0.02)
    assert (follows == 20).sum() > 3 * (follows == 19).sum()
    assert (follows == 2000).sum() > 5 * (follows == 1999).sum() + 5
    assert (follows > 10_000).sum() == pytest.approx(550 * 0.004, abs=1)
    assert (followers > 10_000).sum() == pytest.approx(4000 * 0.004, abs=2)
    assert (rates > 1000).sum() == pytest.approx(46_000 * 0.004, abs=1)
    assert np.median(rates) == pytest.approx(9.5, abs=0.5)
    assert rates.sum() == pytest.approx(455e6 * 0.004, rel=0.02)
    received = np.bincount(subscribers, rates[topics])
    assert (received > 7000).mean() == pytest.approx(3 / 30, rel=0.3)


def test_topics_get_the_followers_wanted_in_spite_of_long_lists() -> None:
    size = Size(TWITTER, 0.002)
    topics, _, _ = whole_trace(size, seed=9)
    recipe, _ = make_recipe(size, seed=9)
    followers = np.bincount(topics, minlength=size.topics)
    drawn = followers[recipe.numbering(np.arange(size.topics))]
    wanted = popularity(size).by_rank()
    for ranks in (slice(0, 10), slice(10, 100), slice(100, 1000), slice(1000, None)):
        assert drawn[ranks].sum() == pytest.approx(wanted[ranks].sum(), rel=0.03)


def test_most_spotify_subscribers_follow_one_or_two() -> None:
    size = Size(SPOTIFY, 0.02)
    topics, subscribers, rates = whole_trace(size, seed=4)
    follows = np.bincount(subscribers, minlength=size.subscribers)
    assert (len(rates), size.subscribers) == (22_000, 98_000)
    assert len(topics) == pytest.approx(240_000, rel=0.01)
    assert (follows <= 2).mean() > 0.7
    assert follows.min() == 1


@settings(max_examples=examples(30))
@given(shapes, small_scales, st.integers(0, 2**70))
def test_no_subscriber_has_a_topic_twice(shape: Shape, scale: float, seed: int) -> None:
    size = Size(shape, scale)
    topics, subscribers, rates = whole_trace(size, seed)
    assert len(np.unique(subscribers * size.topics + topics)) == len(topics)
    assert 0 <= topics.min() <= topics.max() < size.topics
    assert (np.unique(subscribers) == np.arange(size.subscribers)).all()
    assert (np.diff(subscribers) >= 0).all()
    assert rates.min() >= 1
    assert len(topics) == pytest.approx(size.pairs, rel=0.1)


def test_topic_numbers_do_not_tell_rates_or_followers() -> None:
    size = Size(TWITTER, 0.004)
    topics, _, rates = whole_trace(size, seed=6)
    number = np.arange(size.topics)
    followers = np.bincount(topics, minlength=size.topics)
    noise = 4 / math.sqrt(size.topics)
    assert abs(np.corrcoef(number, np.log(rates))[0, 1]) < noise
    assert abs(np.corrcoef(number, np.log(followers + 1))[0, 1]) < noise
    apart = np.abs(np.diff(np.argsort(-followers)[:100]))
    assert apart.min() > 100


@given(st.integers(1, 3000), st.sampled_from([GOLDEN, SILVER]), st.integers(0, 2**31))
def test_scatter_is_one_to_one(count: int, ratio: float, shift: int) -> None:
    scattered = Scatter.of(count, ratio, shift)(np.arange(count))
    assert sorted(scattered.tolist()) == list(range(count))


@pytest.mark.parametrize("scale", [0, -1, 1e-6, 11, math.inf, math.nan])
@pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES.keys())
def test_a_scale_out_of_range_is_refused(shape: Shape, scale: float) -> None:
    with pytest.raises(InputError, match=r"--scale: found .*, expected .* 0\.00001 to"):
        Size(shape, scale)
