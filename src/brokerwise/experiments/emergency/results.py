"""From what a played scenario has left to the table that is printed."""

from collections import Counter
from collections.abc import Iterator

from brokerwise.experiments.emergency.diary import read_diaries
from brokerwise.experiments.emergency.disturbing import DATA_CLUSTER
from brokerwise.experiments.emergency.judging import judge
from brokerwise.experiments.emergency.measures import (
    ChannelMeasures,
    Measures,
    channel_measures,
    notice_measures,
)
from brokerwise.experiments.emergency.oracle import Oracle
from brokerwise.experiments.emergency.playing import Played
from brokerwise.experiments.workers import cores

_HEAD = (
    f"{'channel':<15} {'period':>6} {'backend':>7} {'frontend':>8} {'runs':>5} "
    f"{'skipped':>7} {'results':>8} {'deliveries':>10} {'p50':>7} {'p90':>7}"
)


def measure(played: Played) -> Measures:
    """Compute once more what everyone should have got, and compare."""
    recorded = played.recorder.recorded
    oracle = Oracle(recorded, played.recorder.kept)
    diary = read_diaries(played.diaries)
    numbers = {recorded.subscriptions[n].topic: n for n in recorded.lasts}
    fed = Counter(oracle.reports())
    away = [killed for killed in played.killed if killed.part == DATA_CLUSTER]
    return Measures(
        channels=tuple(channel_measures(recorded, diary)),
        judgement=judge(diary, oracle.results(), numbers),
        notices=notice_measures(diary, away),
        reports=len(played.acknowledged),
        reports_lost=sum(name not in fed for name in played.acknowledged),
        reports_twice=sum(count - 1 for count in fed.values()),
        gaps=diary.gaps,
        seconds=played.seconds,
        spark_cpu_seconds=played.spark_cpu_seconds,
        cores=cores(),
        killed=played.killed,
        settled=played.settled,
    )


def lines(measures: Measures) -> Iterator[str]:
    """The table, then the totals."""
    yield _HEAD
    for row in measures.channels:
        yield _row(row)
    judged = measures.judgement
    yield (
        f"{judged.handed:,} deliveries to {judged.chains:,} subscriptions in "
        f"{measures.seconds:.0f} s: lost {judged.lost:,}, twice {judged.twice:,}, "
        f"wrong {judged.wrong + judged.early + judged.unknown:,}, "
        f"beats skipped {measures.skipped:,}"
    )
    yield (
        f"{measures.reports:,} reports acknowledged: lost {measures.reports_lost:,}, "
        f"fed twice {measures.reports_twice:,}"
    )
    yield (
        f"Spark used {measures.spark_cpu_seconds:.0f} CPU seconds, "
        f"{measures.spark_share:.0%} of {measures.cores} cores"
    )
    yield from _disturbances(measures)
    if judged.again:
        yield f"shown again after a restart: {judged.again:,}"
    if measures.gaps:
        yield f"clients were told that {measures.gaps:,} results will not come"
    if not measures.settled:
        yield "not everything had arrived when it ended"
    yield from judged.examples


def _disturbances(measures: Measures) -> Iterator[str]:
    notices = measures.notices
    if notices.p90_ms is not None:
        yield (
            f"direct topic: {notices.deliveries:,} deliveries, "
            f"p90 {notices.p90_ms:.1f} ms"
        )
    for killed in measures.killed:
        yield f"{killed.part} killed: back after {killed.back - killed.at:.1f} s"
    if any(killed.part == DATA_CLUSTER for killed in measures.killed):
        yield f"direct topic meanwhile: silent for at most {notices.silence:.1f} s"


def _row(row: ChannelMeasures) -> str:
    return (
        f"{row.channel:<15} {row.period:>4.0f} s {row.backend:>7,} {row.frontend:>8,} "
        f"{row.runs:>5,} {row.skipped:>7,} {row.results:>8,} {row.deliveries:>10,} "
        f"{_seconds(row.p50)} {_seconds(row.p90)}"
    )


def _seconds(value: float | None) -> str:
    return f"{'-':>7}" if value is None else f"{value:>5.1f} s"
