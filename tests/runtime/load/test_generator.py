"""What is noted of messages, and what becomes of those that did not come."""

from pathlib import Path

import numpy as np
import pytest

from brokerwise.runtime.load.generator import Record, WrongMessageError
from brokerwise.runtime.load.series import nearest_rank, rows_of_logs
from brokerwise.runtime.load.trials import Trial
from brokerwise.storage.latency_data import LogFacts, LoggedTopic, write_log

TRIAL = Trial(
    number=5,
    topics=(LoggedTopic(2.0, 2, 4.0, 10), LoggedTopic(3.0, 1, 8.0, 10)),
    message_bytes=64,
    longest=60.0,
    seed=0,
)
MS = 1_000_000


def facts(record: Record) -> LogFacts:
    return LogFacts(
        configuration=TRIAL.number,
        topics=TRIAL.topics,
        seconds=1.0,
        cpu_share=0.5,
        others_share=0.0,
        generator_share=0.1,
        late=record.late,
        worst_late_ms=record.worst_late_ns / MS,
        undelivered=record.undelivered(),
        unsent=record.unsent(),
        began_at=0.0,
    )


def sent_all() -> Record:
    """Message n (from 0) is sent at n + 1 ms."""
    record = Record(TRIAL)
    for place in range(TRIAL.total):
        record.note_sent(place, (place + 1) * MS, (place + 1) * MS)
    return record


def test_each_message_has_a_place_of_its_own() -> None:
    record = Record(TRIAL)
    places = [
        record.place(topic, publisher, seq)
        for topic, publishers in enumerate((2, 1))
        for publisher in range(publishers)
        for seq in range(1, 11)
    ]
    assert places == list(range(30))


def test_a_log_has_every_message_with_its_latency() -> None:
    record = sent_all()
    for topic, publisher in ((0, 0), (0, 1), (1, 0)):
        for seq in range(1, 11):
            place = record.place(topic, publisher, seq)
            record.note_came(topic, publisher, seq, (2 * place + 10) * MS)
    assert record.is_complete
    log = record.log(start=1 * MS, end=1000 * MS).to_pydict()
    assert log["configuration"] == [5] * 30
    assert log["topic"] == [0] * 20 + [1] * 10
    assert log["publisher"] == [0] * 10 + [1] * 10 + [0] * 10
    assert log["seq"] == 3 * list(range(1, 11))
    assert log["sent_ns"] == [n * MS for n in range(30)]
    assert log["latency_ns"] == [(n + 9) * MS for n in range(30)]
    assert not facts(record).is_censored


def test_what_did_not_come_counts_with_the_time_that_it_has_waited(
    tmp_path: Path,
) -> None:
    record = sent_all()
    for seq in range(1, 10):  # of the second topic all but the last
        record.note_came(1, 0, seq, (20 + seq + 2) * MS)
    log = record.log(start=0, end=100 * MS)
    latencies = log.to_pydict()["latency_ns"]
    assert latencies[:20] == [(99 - n) * MS for n in range(20)]
    assert latencies[20:] == [2 * MS] * 9 + [70 * MS]
    found = facts(record)
    assert found.undelivered == (20, 1) and found.is_censored
    write_log(tmp_path / "configuration-00005.parquet", log, found)
    rows = rows_of_logs([tmp_path / "configuration-00005.parquet"])
    assert rows.messages.tolist() == [16, 8]
    assert rows.p90_ms[1] == 70.0


def test_what_was_not_sent_is_not_in_the_log() -> None:
    record = Record(TRIAL)
    record.note_sent(record.place(0, 1, 1), 5 * MS, 5 * MS)
    assert record.log(0, 9 * MS).to_pydict()["latency_ns"] == [4 * MS]
    assert facts(record).unsent == 29 and facts(record).is_censored


def test_messages_that_are_sent_late_are_counted() -> None:
    record = Record(TRIAL)
    record.note_sent(0, 10 * MS, 8 * MS)
    assert not facts(record).is_late
    record.note_sent(1, 20 * MS, 10 * MS)
    assert (record.late, record.worst_late_ns) == (1, 10 * MS)
    assert facts(record).is_late  # 1 of 30 is more than 1 %


def test_a_message_that_comes_twice_or_was_never_sent_is_refused() -> None:
    record = Record(TRIAL)
    with pytest.raises(WrongMessageError, match="before it was sent"):
        record.note_came(0, 0, 1, 5)
    record.note_sent(0, 1, 1)
    record.note_came(0, 0, 1, 5)
    with pytest.raises(WrongMessageError, match="twice"):
        record.note_came(0, 0, 1, 6)


@pytest.mark.parametrize(("count", "expected"), [(1, 1), (10, 9), (11, 10), (64, 58)])
def test_the_percentile_is_the_least_that_nine_in_ten_do_not_exceed(
    count: int, expected: int
) -> None:
    values = np.random.default_rng(count).permutation(np.arange(1, count + 1))
    assert nearest_rank(values) == expected
