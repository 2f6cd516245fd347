"""Which configurations are measured, and what is said of the time that is left."""

from dataclasses import replace

import numpy as np

from brokerwise.latency.design import Design
from brokerwise.model.latency import LatencyRows
from brokerwise.runtime.measuring.agenda import Agenda
from brokerwise.runtime.measuring.in_turn import Countdown
from brokerwise.runtime.measuring.settings import Load

DESIGN = Design((1, 2, 4), 10, (2.5, 10.0), seed=3)
AGENDA = Agenda(DESIGN, Load(), cores=1)


def test_numbers_say_which_configuration_it_is() -> None:
    alone, sharing = AGENDA.alone(), AGENDA.sharing(AGENDA.most(None))
    assert [trial.number for trial in alone] == list(range(10))
    assert sorted(trial.number for trial in sharing) == list(range(10, 30))
    assert {len(t.topics) for t in alone} == {1}
    assert {t.number // 10: len(t.topics) for t in sharing} == {1: 2, 2: 4}
    again = Agenda(DESIGN, Load(), cores=1).sharing(AGENDA.most(None))
    assert again == sharing


def test_every_k_has_its_turn() -> None:
    sharing = AGENDA.sharing(AGENDA.most(None))
    assert [len(trial.topics) for trial in sharing] == 10 * [2, 4]


def test_topics_that_share_have_no_more_publishers_than_meet_the_target_alone() -> None:
    publishers = np.arange(10, 101, 10)
    ones = np.ones(10)
    rows = LatencyRows(
        configuration=np.arange(10),
        processing_ms=2.5 * ones,
        rate_per_second=(4.0 * publishers).astype(np.float64),
        messages=np.full(10, 64),
        mean_ms=ones,
        p90_ms=np.where(publishers <= 70, 20.0, 900.0),
        cpu_share=ones,
    )
    only = Agenda(replace(DESIGN, processing=(2.5,)), Load(), cores=1)
    assert only.most(rows) == only.meeting(rows) == {2.5: 70}
    assert AGENDA.most(rows) == {2.5: 70, 10.0: 25}  # of which nothing is known
    assert only.most(None) == {2.5: 100}  # what one core has time for
    # Every other one is drawn so; those between go by their load.
    drawn = [t for t in only.sharing({2.5: 7}) if t.number % 2 == 0]
    assert max(topic.publishers for t in drawn for topic in t.topics) == 7


def test_without_topics_alone_there_are_none() -> None:
    agenda = Agenda(replace(DESIGN, topics=(3,)), Load(), cores=1)
    assert agenda.alone() == []
    assert [t.number for t in agenda.sharing({2.5: 9, 10.0: 9})] == list(range(10))


def test_the_time_left_is_corrected_by_what_it_took_so_far() -> None:
    first, *rest = AGENDA.alone()
    countdown = Countdown(1)
    before = countdown.left(rest)
    assert before == sum(trial.expected_seconds(1) for trial in rest)
    countdown.note(first, 2 * first.expected_seconds(1))
    assert countdown.left(rest) == 2 * before
