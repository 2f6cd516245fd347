"""Small fleets to balance, for hypothesis."""

import numpy as np
from hypothesis import strategies as st

from brokerwise.model.interests import Interests
from brokerwise.model.snapshot import Rebalancing, Snapshot
from brokerwise.planners.balance.problem import Problem


def snapshot_of(
    brokers: int,
    rates: list[int],
    wants: list[list[int]],
    places: list[int],
    users: list[int] | None = None,
    state_bytes: list[int] | None = None,
) -> Snapshot:
    """Sessions by the lists of their topics."""
    lengths = [len(each) for each in wants]
    return Snapshot(
        brokers,
        np.array(rates, np.int64),
        Interests(
            np.cumsum([0, *lengths]),
            np.array([topic for each in wants for topic in sorted(each)], np.int32),
        ),
        np.array(places, np.int32),
        np.array(list(range(len(wants))) if users is None else users, np.int32),
        np.array([1] * len(wants) if state_bytes is None else state_bytes, np.int64),
    )


def plain(brokers: int, loads: list[list[int]]) -> Snapshot:
    """Brokers with sessions of these loads, each with a topic that nobody else wants:
    half of a load is what its broker receives, half what it sends."""
    sessions = [(b, load) for b, of_one in enumerate(loads) for load in of_one]
    assert all(load % 2 == 0 for _, load in sessions)
    return snapshot_of(
        brokers,
        [load // 2 for _, load in sessions],
        [[topic] for topic in range(len(sessions))],
        [b for b, _ in sessions],
    )


def drawn(
    seed: int, sessions: int, brokers: int, topics: int, each: int, skew: float = 1.5
) -> Snapshot:
    """Sessions of up to so many topics on brokers of which some have far more."""
    random = np.random.default_rng(seed)
    wants = [
        sorted(random.choice(topics, random.integers(1, each + 1), replace=False))
        for _ in range(sessions)
    ]
    shares = random.pareto(skew, brokers) + 0.1
    places = random.choice(brokers, sessions, p=shares / shares.sum())
    rates = random.integers(1, 100, topics)
    return snapshot_of(brokers, rates.tolist(), wants, places.tolist())


@st.composite
def snapshots(
    draw: st.DrawFn,
    sessions: int = 12,
    brokers: int = 4,
    topics: int = 6,
    rate: int = 20,
) -> Snapshot:
    """Some with users of several sessions, some with everyone on one broker."""
    m = draw(st.integers(1, brokers))
    rates = draw(st.lists(st.integers(0, rate), min_size=1, max_size=topics))
    wanted = st.sets(st.integers(0, len(rates) - 1), max_size=4).map(sorted)
    wants = draw(st.lists(wanted, max_size=sessions))
    n = len(wants)
    numbers = st.lists(st.integers(0, m - 1), min_size=n, max_size=n)
    places = draw(st.one_of(numbers, st.just([0] * n)))
    users = list(range(n))
    if draw(st.booleans()):
        users = _apart(
            draw(st.lists(st.integers(0, n), min_size=n, max_size=n)), places
        )
    state = draw(st.lists(st.integers(0, 9), min_size=n, max_size=n))
    return snapshot_of(m, rates, wants, places, users, state)


def _apart(users: list[int], places: list[int]) -> list[int]:
    """The same users, but none with two sessions on one broker."""
    seen: set[tuple[int, int]] = set()
    found = []
    for session, (user, place) in enumerate(zip(users, places, strict=True)):
        name = len(users) + 1 + session if (user, place) in seen else user
        seen.add((user, place))
        found.append(name)
    return found


@st.composite
def problems(draw: st.DrawFn, /, **sizes: int) -> Problem:
    """With sessions that are held, and brokers that are not open or close."""
    snapshot = draw(snapshots(**sizes))
    n, m = snapshot.sessions, snapshot.brokers
    if draw(st.booleans()):
        return Problem.of(snapshot)
    kinds = draw(st.lists(st.sampled_from("oooxc"), min_size=m, max_size=m))
    held = draw(st.lists(st.sampled_from([False] * 4 + [True]), min_size=n, max_size=n))
    return Problem(
        snapshot,
        np.array(held, np.bool_),
        np.array([kind == "o" for kind in kinds], np.bool_),
        np.array([kind == "c" for kind in kinds], np.bool_),
    )


def after(problem: Problem, found: Rebalancing) -> list[int]:
    """Where sessions are when all moves are made."""
    places = problem.snapshot.places.copy()
    places[found.sessions] = found.targets
    return [int(place) for place in places]
