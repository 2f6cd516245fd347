import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.kernels.placing import Cursor, Homes, place_block
from brokerwise.model.interests import Interests
from brokerwise.model.placement import Placement


@st.composite
def placements(draw: st.DrawFn) -> tuple[Placement, Interests]:
    """A selection, and runs that hold just its pairs."""
    lists = draw(
        st.lists(st.sets(st.integers(0, 4)).map(sorted), min_size=1, max_size=12)
    )
    offsets = np.cumsum([0, *map(len, lists)])
    topics = np.array([t for wanted in lists for t in wanted], np.int32)
    runs = []
    for topic, count in enumerate(np.bincount(topics, minlength=5).tolist()):
        brokers = draw(st.permutations(range(3)))
        while count:
            size = draw(st.integers(1, count)) if len(brokers) > 1 else count
            runs.append((topic, brokers.pop(), size))
            count -= size
    columns = np.array(runs, np.int64).reshape(-1, 3).T
    placement = Placement(
        columns[0].astype(np.int32), columns[1].astype(np.int32), columns[2]
    )
    return placement, Interests(offsets, topics)


@given(case=placements(), cut=st.integers(0, 12))
def test_pairs_go_where_the_runs_say_wherever_the_blocks_are_cut(
    case: tuple[Placement, Interests], cut: int
) -> None:
    placement, selection = case
    homes = Homes.of(placement, 5)
    at = int(selection.offsets[min(cut, selection.subscribers)])
    first, second = selection.topics[:at], selection.topics[at:]
    before = np.bincount(first, minlength=5)[homes.cut]
    found = [
        place_block(homes, Cursor.after(homes, np.zeros(len(homes.cut), int)), first),
        place_block(homes, Cursor.after(homes, before), second),
    ]
    expected = placement.brokers_of(selection)
    assert np.concatenate(found).tolist() == expected.tolist()
