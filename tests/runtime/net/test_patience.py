"""Deadlines against a list that is searched whole."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.net.patience import Patience

ACTIONS = st.lists(
    st.tuples(
        st.sampled_from(["begin", "end", "look"]), st.integers(0, 5), st.integers(0, 4)
    ),
    max_size=40,
)


@given(ACTIONS)
def test_exactly_those_run_out_whose_time_is_over(
    actions: list[tuple[str, int, int]],
) -> None:
    patience: Patience[int] = Patience(5.0)
    deadlines: dict[int, float] = {}
    now = 0.0
    for action, who, pause in actions:
        now += pause
        if action == "begin":
            patience.begin(who, now)
            deadlines[who] = now + 5.0
        elif action == "end":
            patience.end(who)
            deadlines.pop(who, None)
        else:
            late = {w for w, deadline in deadlines.items() if deadline <= now}
            found = patience.run_out(now)
            assert set(found) == late
            assert len(found) == len(late)
            assert [deadlines[w] for w in found] == sorted(deadlines[w] for w in found)
            for w in late:
                del deadlines[w]
        assert len(patience) == len(deadlines)
