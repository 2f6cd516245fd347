"""What was said of sets is kept, and asked for once."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.colocate_dominance import heavier
from brokerwise.model.arrays import Bools, Int32s
from brokerwise.planners.colocate.verdicts import Kept


def rule(rows: Int32s) -> Bools:
    return np.asarray(rows.sum(axis=1) % 3 != 0, np.bool_)


@given(
    batches=st.lists(
        st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=30),
        max_size=6,
    )
)
def test_each_set_is_judged_once(batches: list[list[tuple[int, int]]]) -> None:
    kept, asked = Kept(2), list[tuple[int, ...]]()

    def judge(rows: Int32s) -> Bools:
        asked.extend(map(tuple, rows.tolist()))
        return rule(rows)

    for batch in batches:
        rows = np.array(batch, np.int32).reshape(-1, 2)
        assert kept.look_up(rows, judge).tolist() == rule(rows).tolist()
    assert len(asked) == len(set(asked)) == len(kept)
    longer = np.array([(a, b, 3) for a in range(6) for b in range(6)], np.int32)
    known = {row for row in asked if not rule(np.array([row], np.int32))[0]}
    for row, refuted in zip(longer.tolist(), kept.refuted(longer), strict=True):
        parts = {(row[0], row[1]), (row[0], row[2]), (row[1], row[2])}
        assert refuted == bool(parts & known)


def test_a_hundred_thousand_sets_find_room() -> None:
    rng = np.random.default_rng(1)
    kept = Kept(6)
    rows = rng.integers(0, 5000, (100_000, 6)).astype(np.int32)
    for part in np.array_split(rows, 7):
        assert (kept.look_up(part, rule) == rule(part)).all()

    def never_asked(rows: Int32s) -> Bools:
        raise AssertionError("asked again")

    assert (kept.look_up(rows, never_asked) == rule(rows)).all()


@given(
    sizes=st.lists(st.tuples(*3 * [st.integers(0, 3)]), min_size=1, max_size=8),
    count=st.integers(0, 4),
)
def test_heavier_is_no_lighter_in_any_respect(
    sizes: list[tuple[int, int, int]], count: int
) -> None:
    columns = np.array(sizes, float).T.copy()
    every = np.arange(len(sizes), dtype=np.int32)
    some = every[:count]
    expected = [
        any(all(a >= b for a, b in zip(one, sizes[o], strict=True)) for o in some)
        for one in sizes
    ]
    assert heavier(columns, every, some).tolist() == expected
