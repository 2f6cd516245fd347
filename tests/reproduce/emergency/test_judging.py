"""The figures of a played scenario."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reproduce.emergency.fed_state import FedState

from brokerwise.reproduce.emergency.city import (
    CHANNELS,
    TYPES,
    Place,
    Report,
    cells,
    reports,
    shelters,
    somewhere,
)
from brokerwise.reproduce.emergency.judging import (
    Expected,
    Judgement,
    Measures,
    NoticeMeasures,
    Oracle,
    channel_measures,
    judge,
    lines,
    notice_measures,
)
from brokerwise.reproduce.emergency.playing import Killed
from brokerwise.reproduce.emergency.records import (
    LOGGED_OUT,
    ONLINE,
    UNSUBSCRIBED,
    Diary,
    Life,
    Recorded,
    RecordedRun,
    RecordedSubscription,
    Recorder,
)

SHELTERS = [
    (str(s["shelter"]), Place(float(s["x"]), float(s["y"])))
    for s in shelters(3, 40)
    if float(s["x"]) < 3_000  # so that some are far from all of them
]
REPORTS = reports(3, 120, 60.0)
USERS = ("ann", "bob", "eve")
Row = dict[str, Any]
Rows = Iterator[Row]


def metres(a: Place, b: Place) -> int:
    return int(((a.x - b.x) ** 2 + (a.y - b.y) ** 2) ** 0.5)


def near(a: Place, b: Place, most: int) -> bool:
    return abs(a.x - b.x) <= most and abs(a.y - b.y) <= most


def row(report: Report, *names: str, **more: Any) -> Row:
    record = report.record(fed_at=int(report.at * 1000))
    return {name: record[name] for name in names} | more


def nearest(report: Report) -> list[Row]:
    found = sorted(
        (metres(report.place, place), name)
        for name, place in SHELTERS
        if near(report.place, place, 2_000)
    )
    return [{"metres": far, "shelter": name} for far, name in found[:3]]


def by_type(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.type == given[0]:
            yield row(r, "report", "severity", "cell", "text", "fed_at")


def in_cell(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.record(0)["cell"] == given[0]:
            yield row(r, "report", "type", "severity", "text", "fed_at")


def near_user(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    place = places.get(given[0])
    for r in new:
        if place and near(r.place, place, 1_000):
            names = ("report", "type", "severity", "text", "fed_at")
            yield row(r, *names, metres=metres(r.place, place))


def severe(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if (r.type, r.record(0)["cell"]) == given and r.severity >= 3:
            yield row(r, "report", "severity", "text", "fed_at")


def type_near_user(
    new: Sequence[Report], places: dict[str, Place], *given: str
) -> Rows:
    place = places.get(given[1])
    for r in new:
        if place and r.type == given[0] and near(r.place, place, 1_000):
            names = ("report", "severity", "cell", "text", "fed_at")
            yield row(r, *names, shelters=nearest(r))


def cell_shelters(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for r in new:
        if r.record(0)["cell"] == given[0]:
            names = ("report", "type", "severity", "fed_at")
            yield row(r, *names, shelters=nearest(r))


def type_summary(new: Sequence[Report], places: dict[str, Place], *given: str) -> Rows:
    for cell in cells():
        there = [r for r in new if (r.type, r.record(0)["cell"]) == (given[0], cell)]
        if there:
            yield {
                "cell": cell,
                "reports": len(there),
                "worst": max(r.severity for r in there),
                "fed_at": min(int(r.at * 1000) for r in there),
            }


PLAIN: dict[str, Callable[..., Rows]] = {
    one.__name__: one
    for one in (
        by_type,
        in_cell,
        near_user,
        severe,
        type_near_user,
        cell_shelters,
        type_summary,
    )
}
GIVEN: dict[str, list[tuple[str, ...]]] = {
    "by_type": [(kind,) for kind in TYPES],
    "in_cell": [(cell,) for cell in cells()],
    "near_user": [(user,) for user in (*USERS, "nobody")],
    "severe": [(kind, cell) for kind in TYPES for cell in cells()],
    "type_near_user": [(kind, user) for kind in TYPES for user in USERS],
    "cell_shelters": [(cell,) for cell in cells()],
    "type_summary": [(kind,) for kind in TYPES],
}


@pytest.fixture
def fed(tmp_path: Path) -> Iterator[tuple[FedState, Recorder, dict[str, Place]]]:
    """Segments 1 shelters, 2 old reports, 3 to 5 locations, 6 and 7 new reports,
    8 later locations, 9 later reports. Places are those as of segment 7."""
    rng = random.Random(5)
    state = FedState(tmp_path / "data")
    with closing(state.store):
        state.feed(1, "shelters", [shelter(*one) for one in SHELTERS])
        state.feed(2, "reports", [record(r) for r in REPORTS[:20]])
        places: dict[str, Place] = {}
        for number in (3, 4, 5):
            places |= {user: somewhere(rng) for user in USERS}
            moved = [located(user, place) for user, place in places.items()]
            state.feed(number, "user_locations", moved)
        state.feed(6, "reports", [record(r) for r in REPORTS[20:70]])
        state.feed(7, "reports", [record(r) for r in REPORTS[70:100]])
        later = [located(user, somewhere(rng)) for user in USERS]
        state.feed(8, "user_locations", later)
        state.feed(9, "reports", [record(r) for r in REPORTS[100:]])
        yield state, Recorder(tmp_path / "data", tmp_path / "kept"), places


def record(report: Report) -> Row:
    return report.record(fed_at=int(report.at * 1000))


def shelter(name: str, place: Place) -> Row:
    return {"shelter": name, "x": place.x, "y": place.y, "beds": 10}


def located(user: str, place: Place) -> Row:
    return {"user": user, "x": place.x, "y": place.y, "at": 1}


@pytest.mark.parametrize("channel", [channel.name for channel in CHANNELS])
def test_a_run_gives_what_the_channel_says_of_its_new_records(
    channel: str, fed: tuple[FedState, Recorder, dict[str, Place]]
) -> None:
    state, recorder, places = fed
    for number, values in enumerate(GIVEN[channel], start=1):
        state.subscribe(number, channel, values, version=number)
    state.run(channel, 1, (3, 7), version=len(GIVEN[channel]))
    recorder.look()
    results = Oracle(recorder.recorded, recorder.kept).results()
    found = 0
    for number, values in enumerate(GIVEN[channel], start=1):
        rows = list(PLAIN[channel](REPORTS[20:100], places, *values))
        texts = sorted(json.dumps(one, separators=(",", ":")) for one in rows)
        assert [result.text for result in results[number]] == texts
        found += len(texts)
    assert found > 5
    if "shelters" in channel:
        assert any('"shelters":[]' in r.text for rs in results.values() for r in rs)


def test_a_subscription_takes_part_from_its_version_on_and_seqs_go_on(
    fed: tuple[FedState, Recorder, dict[str, Place]],
) -> None:
    state, recorder, _ = fed
    state.subscribe(1, "by_type", ["fire"], version=1)
    state.subscribe(2, "by_type", ["fire"], version=3)
    state.run("by_type", 1, (2, 6), version=2)
    state.run("by_type", 2, (7, 9), version=3)
    recorder.look()
    results = Oracle(recorder.recorded, recorder.kept).results()
    fires = [r.report for r in REPORTS if r.type == "fire"]
    assert [json.loads(r.text)["report"] for r in results[1]] == fires
    assert [r.run for r in results[2]] == [2] * len(results[2])
    assert results[1][-len(results[2]) :] == results[2]
    assert results[2][0].committed == 2.5


def test_what_a_channel_set_aside_is_left_out(
    fed: tuple[FedState, Recorder, dict[str, Place]],
) -> None:
    state, recorder, _ = fed
    state.subscribe(1, "by_type", ["fire"], version=1)
    state.run("by_type", 1, (2, 9), version=1)
    state.store.sql.execute("INSERT INTO set_aside VALUES ('by_type', 7, 'bad', 0)")
    state.store.sql.execute("INSERT INTO set_aside VALUES ('in_cell', 6, 'bad', 0)")
    recorder.look()
    oracle = Oracle(recorder.recorded, recorder.kept)
    fires = [r.report for r in REPORTS[:70] + REPORTS[100:] if r.type == "fire"]
    found = [json.loads(r.text)["report"] for r in oracle.results()[1]]
    assert found == fires
    assert oracle.reports() == [r.report for r in REPORTS]


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


def recorded() -> Recorded:
    made = Recorded(skipped={"in_cell": 3})
    made.subscriptions[4] = RecordedSubscription(4, "in_cell", "t", ("2-2",), 1)
    for run in (1, 2):
        made.runs["in_cell", run] = RecordedRun(
            "in_cell", run, 1, 2, 2, 1, 10, 0.0, 1.0
        )
    return made


def diary() -> Diary:
    """Ten results, fed each second, handed over 1 to 10 seconds later, to two."""
    made = Diary()
    for user in ("ann", "bob"):
        life = made.begin(Life(user, "t", False, 0.0, 0.0))
        for seq in range(1, 11):
            made.note(life, 4, seq, f'{{"fed_at":{seq * 1000}}}', seq + float(seq))
    return made


def test_a_channel_has_its_runs_deliveries_and_delays() -> None:
    row = next(m for m in channel_measures(recorded(), diary()) if m.deliveries)
    assert (row.channel, row.period, row.backend, row.frontend) == ("in_cell", 10, 1, 2)
    assert (row.runs, row.skipped, row.results, row.deliveries) == (2, 3, 20, 20)
    assert row.p50 == pytest.approx(5.5)
    assert row.p90 == pytest.approx(9.1)


def test_a_channel_without_deliveries_has_no_delay() -> None:
    row = channel_measures(Recorded(), Diary())[0]
    assert (row.deliveries, row.p50, row.p90) == (0, None, None)


def test_silence_is_the_longest_while_the_data_cluster_was_away() -> None:
    made = Diary()
    for at in (8.0, 9.9, 10.3, 12.0, 14.5, 30.0):
        made.notice("ann", 1, at - 0.002, at)
    for at in (9.0, 9.5):
        made.notice("bob", 1, at - 0.002, at)
    made.notice("eve", 1, 29.0, 29.002)  # came later
    found = notice_measures(made, [Killed("data-cluster", 10.0, 15.0)])
    assert found.deliveries == 9
    assert found.silence == pytest.approx(15.0 - 9.5)
    assert found.p90_ms == pytest.approx(2.0)
    assert notice_measures(Diary(), []) == NoticeMeasures(0, None, 0.0)


def measures(judgement: Judgement) -> Measures:
    return Measures(
        channels=tuple(channel_measures(recorded(), diary())),
        judgement=judgement,
        notices=NoticeMeasures(100, 1.5, 0.3),
        reports=10,
        reports_lost=0,
        reports_twice=0,
        gaps=0,
        seconds=100.0,
        spark_cpu_seconds=50.0,
        cores=2,
        killed=(Killed("data-cluster", 10.0, 25.0),),
        settled=True,
    )


def test_the_table_says_what_was_found() -> None:
    told = list(lines(measures(Judgement(handed=20, chains=2))))
    cells = " ".join(told[2].split())
    assert cells == "in_cell 10 s 1 2 2 3 20 20 5.5 s 9.1 s"
    assert told[8:] == [
        "20 deliveries to 2 subscriptions in 100 s: lost 0, twice 0, wrong 0, "
        "beats skipped 3",
        "10 reports acknowledged: lost 0, fed twice 0",
        "Spark used 50 CPU seconds, 25% of 2 cores",
        "direct topic: 100 deliveries, p90 1.5 ms",
        "data-cluster killed: back after 15.0 s",
        "direct topic meanwhile: silent for at most 0.3 s",
    ]


def test_it_is_good_only_if_nothing_is_wrong() -> None:
    assert measures(Judgement()).is_good
    assert not measures(Judgement(lost=1)).is_good
    assert not measures(Judgement(wrong=1)).is_good
    assert measures(Judgement(again=1)).is_good
    told = list(lines(measures(Judgement(again=3, lost=1, examples=["see here"]))))
    assert told[-2:] == ["shown again after a restart: 3", "see here"]
