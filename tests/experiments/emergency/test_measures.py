"""The figures of a played scenario."""

import pytest

from brokerwise.experiments.emergency.diary import Diary, Life
from brokerwise.experiments.emergency.disturbing import Killed
from brokerwise.experiments.emergency.judging import Judgement
from brokerwise.experiments.emergency.measures import (
    Measures,
    NoticeMeasures,
    channel_measures,
    notice_measures,
)
from brokerwise.experiments.emergency.recording import (
    Recorded,
    RecordedRun,
    RecordedSubscription,
)
from brokerwise.experiments.emergency.results import lines


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
