"""Lost, twice, out of order: found exactly."""

from hypothesis import given
from hypothesis import strategies as st

from brokerwise.runtime.load.arrivals import Arrivals, Findings, Streams

STREAMS = Streams([("news", "s0", 5), ("news", "s1", 2), ("chess", "s0", 3)])


def arrivals(*topics: str, own: str = "") -> Arrivals:
    return Arrivals(STREAMS, topics, own)


def taken(counter: Arrivals, source: str, *seqs: int) -> list[bool]:
    return [counter.take("news", source, seq) for seq in seqs]


def test_all_of_it_in_order_is_as_it_should_be() -> None:
    counter = arrivals("news")
    assert taken(counter, "s0", 1, 2, 3, 4, 5) == [True] * 5
    assert taken(counter, "s1", 1, 2) == [True] * 2
    assert counter.findings() == Findings()


def test_what_has_not_come_is_lost() -> None:
    counter = arrivals("news", "chess")
    taken(counter, "s0", 1, 2, 5)
    assert counter.findings() == Findings(lost=2 + 2 + 3)


def test_what_comes_again_is_counted_and_not_waited_for() -> None:
    counter = arrivals("news")
    assert taken(counter, "s0", 1, 2, 2, 1, 3, 4, 5) == [
        *(True, True, False, False, True, True, True)
    ]
    taken(counter, "s1", 1, 2)
    assert counter.findings() == Findings(twice=2)


def test_what_comes_late_is_out_of_order_but_not_lost() -> None:
    counter = arrivals("news")
    assert all(taken(counter, "s0", 1, 4, 2, 3, 5))
    taken(counter, "s1", 1, 2)
    assert counter.findings() == Findings(disordered=2)


def test_late_and_then_again_is_both() -> None:
    counter = arrivals("news")
    taken(counter, "s0", 2, 1, 1, 3, 4, 5)
    taken(counter, "s1", 1, 2)
    assert counter.findings() == Findings(disordered=1, twice=1)


def test_what_nobody_waits_for_is_foreign() -> None:
    counter = arrivals("chess")
    taken(counter, "s0", 1)  # not subscribed to
    assert not counter.take("chess", "stranger", 1)
    assert not counter.take("chess", "s0", 4)  # there are three
    for seq in (1, 2, 3, 4):
        counter.take("chess", "s0", seq)
    assert counter.findings() == Findings(foreign=4)


def test_nobody_waits_for_what_it_said_itself() -> None:
    counter = arrivals("news", own="s0")
    taken(counter, "s1", 1, 2)
    assert counter.findings() == Findings()
    assert not counter.take("news", "s0", 1)
    assert counter.findings() == Findings(foreign=1)


@given(st.lists(st.integers(1, 6), max_size=20))
def test_findings_are_those_of_the_definitions(seqs: list[int]) -> None:
    counter = Arrivals(Streams([("t", "s", 5)]), ("t",))
    seen: list[int] = []
    expected = {"twice": 0, "disordered": 0, "foreign": 0}
    for seq in seqs:
        counter.take("t", "s", seq)
        if seq > 5:
            expected["foreign"] += 1
        elif seq in seen:
            expected["twice"] += 1
        else:
            expected["disordered"] += any(other > seq for other in seen)
            seen.append(seq)
    assert counter.findings() == Findings(lost=5 - len(seen), **expected)
