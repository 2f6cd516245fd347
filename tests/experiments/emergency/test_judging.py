"""Whether the judge sees all that can go wrong, and nothing else."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.experiments.emergency.diary import (
    LOGGED_OUT,
    ONLINE,
    UNSUBSCRIBED,
    Diary,
    Life,
)
from brokerwise.experiments.emergency.judging import Judgement, judge
from brokerwise.experiments.emergency.oracle import Expected

TOPIC, NUMBER = "channel/by_type?type=fire", 4


def text(seq: int) -> str:
    return f'{{"report":"r{seq}"}}'


# Two results each ten seconds: 1 and 2 at 10, 3 and 4 at 20, ... 9 and 10 at 50.
RESULTS = [Expected(1 + n // 2, 10.0 * (1 + n // 2), text(n + 1)) for n in range(10)]


def diary_of(*lives: tuple[Life, list[int]]) -> Diary:
    diary = Diary()
    for life, seqs in lives:
        number = diary.begin(life)
        for seq in seqs:
            diary.note(number, NUMBER, seq, text(seq), 0.0)
    return diary


def judged(diary: Diary) -> Judgement:
    return judge(diary, {NUMBER: RESULTS}, {TOPIC: NUMBER})


def life(
    asked: float = 1.0,
    served: float | None = 2.0,
    how: str = ONLINE,
    *,
    latest: bool = False,
) -> Life:
    return Life("ann", TOPIC, latest, asked, served, None, how)


ALL = list(range(1, 11))
AWAY = life(1.0, 2.0, LOGGED_OUT)
GOOD = {
    "everything": [(life(), ALL)],
    "from the next result on": [(life(12.0, 13.0), ALL[2:])],
    "a result that was committed while it subscribed": [(life(9.0, 11.0), ALL)],
    "or not that one": [(life(9.0, 11.0), ALL[2:])],
    "until the logout": [(AWAY, ALL[:5])],
    "nothing until the logout": [(AWAY, [])],
    "until it had enough": [(life(1.0, 2.0, UNSUBSCRIBED), ALL[:5])],
    "again where it was": [(AWAY, ALL[:5]), (life(35.0, 36.0), ALL[5:])],
    "nothing before, everything now": [(AWAY, []), (life(35.0, 36.0), ALL)],
    "the latest": [(AWAY, ALL[:5]), (life(41.0, 42.0, latest=True), ALL[8:])],
    "nothing that is late": [(life(51.0, 52.0), [])],
    "cut off before it was served": [
        (life(1.0, None, LOGGED_OUT), []),
        (life(12.0, 13.0), ALL[2:]),
    ],
}


@pytest.mark.parametrize("lives", GOOD.values(), ids=GOOD.keys())
def test_what_is_right_is_called_right(lives: list[tuple[Life, list[int]]]) -> None:
    found = judged(diary_of(*lives))
    assert found.is_good and found.again == 0
    assert found.examples == []


BAD = {
    "one is missing": ([(life(), [1, 2, 4, *ALL[4:]])], {"lost": 1}),
    "the first is missing": ([(life(), ALL[1:])], {"lost": 1}),
    "the last is missing": ([(life(), ALL[:-1])], {"lost": 1}),
    "all are missing": ([(life(), [])], {"lost": 10}),
    "some are missing after a logout": (
        [(AWAY, ALL[:5]), (life(35.0, 36.0), ALL[7:])],
        {"lost": 2},
    ),
    "all are missing after a logout": (
        [(AWAY, ALL[:5]), (life(35.0, 36.0), [])],
        {"lost": 5},
    ),
    "none came, before or after": ([(AWAY, []), (life(35.0, 36.0), [])], {"lost": 10}),
    "one comes twice": ([(life(), [1, 2, 3, 3, *ALL[3:]])], {"twice": 1}),
    "one comes late": ([(life(), [1, 3, 2, *ALL[3:]])], {"lost": 1, "twice": 1}),
    "old ones come": ([(life(32.0, 33.0), ALL[2:])], {"early": 4}),
    "more than the latest": (
        [(AWAY, ALL[:5]), (life(41.0, 42.0, latest=True), ALL[5:])],
        {"early": 3},
    ),
    "less than the latest": (
        [(AWAY, ALL[:5]), (life(41.0, 42.0, latest=True), ALL[9:])],
        {"lost": 1},
    ),
    "more than there are": ([(life(), [*ALL, 11])], {"wrong": 1}),
}


@pytest.mark.parametrize(("lives", "counts"), BAD.values(), ids=BAD.keys())
def test_what_is_wrong_is_counted(
    lives: list[tuple[Life, list[int]]], counts: dict[str, int]
) -> None:
    found = judged(diary_of(*lives))
    assert not found.is_good
    assert found.examples
    names = ("lost", "twice", "again", "early", "wrong", "unknown")
    assert {name: getattr(found, name) for name in names if getattr(found, name)} == (
        counts
    )


def test_what_a_restarted_client_sees_again_is_told_but_is_not_wrong() -> None:
    found = judged(diary_of((AWAY, ALL[:5]), (life(35.0, 36.0), ALL[3:])))
    assert found.is_good
    assert found.again == 2


def test_another_text_is_wrong() -> None:
    diary = diary_of((life(), ALL))
    diary.texts[NUMBER, 3] = text(4)
    found = judged(diary)
    assert found.wrong == 1
    assert found.examples == [
        f"subscription 4, result 3: found {text(4)}, expected {text(3)}"
    ]


def test_a_text_that_not_everyone_got_is_wrong() -> None:
    diary = diary_of((life(), ALL), (replace(life(), user="bob"), ALL))
    assert judged(diary).is_good
    diary.note(1, NUMBER, 10, "another", 0.0)
    assert judged(diary).wrong == 1
    diary.unexpected = 2
    assert judged(diary).wrong == 3


def test_results_of_a_subscription_that_was_not_seen_are_unknown() -> None:
    diary = diary_of((life(), []))
    diary.note(0, 99, 1, text(1), 0.0)
    assert judged(diary).unknown == 1


def test_a_topic_has_one_subscription_at_a_time() -> None:
    diary = diary_of((life(), ALL))
    diary.note(0, 5, 1, text(1), 0.0)
    found = judge(diary, {4: RESULTS, 5: RESULTS}, {TOPIC: 4})
    assert found.wrong == 1


@st.composite
def lives_in_order(draw: st.DrawFn) -> list[tuple[Life, list[int]]]:
    """Somebody who comes at some time, and goes away and comes back, and is served as
    it should be."""
    seen = draw(st.integers(0, 8))
    at = 5.0 + 10.0 * (seen // 2)
    seen = seen // 2 * 2
    lives = []
    for how in draw(st.lists(st.just(LOGGED_OUT), max_size=2)):
        until = draw(st.integers(seen, 10))
        lives.append((life(at, at + 0.1, how), list(range(seen + 1, until + 1))))
        at, seen = at + 0.2, until
    return [*lives, (life(at, at + 0.1), list(range(seen + 1, 11)))]


def without(seqs: list[int], place: int) -> list[int]:
    return seqs[:place] + seqs[place + 1 :]


def repeated(seqs: list[int], place: int) -> list[int]:
    return seqs[: place + 1] + seqs[place:]


@given(lives=lives_in_order(), data=st.data())
def test_any_one_fault_is_found(
    lives: list[tuple[Life, list[int]]], data: st.DataObject
) -> None:
    assert judged(diary_of(*lives)).is_good
    some = [number for number, (_, seqs) in enumerate(lives) if seqs]
    if not some:
        return
    number = data.draw(st.sampled_from(some))
    one, seqs = lives[number]
    place = data.draw(st.integers(0, len(seqs) - 1))
    fault: Callable[[list[int], int], list[int]]
    fault = data.draw(st.sampled_from([without, repeated]))
    lives[number] = one, fault(seqs, place)
    assert not judged(diary_of(*lives)).is_good
