"""How it went: one row a channel, and what was lost, shown twice or wrong. Pure."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from brokerwise.experiments.emergency.definitions import CHANNELS
from brokerwise.experiments.emergency.diary import Diary
from brokerwise.experiments.emergency.disturbing import Killed
from brokerwise.experiments.emergency.judging import Judgement
from brokerwise.experiments.emergency.recording import Recorded


@dataclass(frozen=True)
class ChannelMeasures:
    """Delays are seconds from feeding a report to handing its result over, the first
    report where a result is of several; None without any."""

    channel: str
    period: float
    backend: int
    frontend: int
    runs: int
    skipped: int
    results: int
    deliveries: int
    p50: float | None
    p90: float | None


@dataclass(frozen=True)
class NoticeMeasures:
    """Of the direct topic. `silence`: the longest time, in seconds, that somebody
    heard nothing while the data cluster was away."""

    deliveries: int
    p90_ms: float | None
    silence: float


@dataclass(frozen=True)
class Measures:
    """`reports_lost` were acknowledged and are not in what was fed; `gaps` is what
    clients were told will not come."""

    channels: tuple[ChannelMeasures, ...]
    judgement: Judgement
    notices: NoticeMeasures
    reports: int
    reports_lost: int
    reports_twice: int
    gaps: int
    seconds: float
    spark_cpu_seconds: float
    cores: int
    killed: tuple[Killed, ...]
    settled: bool

    @property
    def spark_share(self) -> float:
        """Of all that the machine's cores could do."""
        return self.spark_cpu_seconds / (self.seconds * self.cores)

    @property
    def skipped(self) -> int:
        return sum(row.skipped for row in self.channels)

    @property
    def is_good(self) -> bool:
        return (
            self.settled
            and self.judgement.is_good
            and not (self.reports_lost or self.reports_twice or self.gaps)
        )


def channel_measures(recorded: Recorded, diary: Diary) -> list[ChannelMeasures]:
    delays = _delays(recorded, diary)
    runs = Counter(run.channel for run in recorded.runs.values())
    backend = Counter(one.channel for one in recorded.subscriptions.values())
    results = Counter[str]()
    for run in recorded.runs.values():
        results[run.channel] += run.rows
    users = {(life.user, life.topic) for life in diary.lives}
    channels = {one.topic: one.channel for one in recorded.subscriptions.values()}
    frontend = Counter(channels.get(topic, "") for _, topic in users)
    return [
        ChannelMeasures(
            channel.name,
            channel.period,
            backend[channel.name],
            frontend[channel.name],
            runs[channel.name],
            recorded.skipped.get(channel.name, 0),
            results[channel.name],
            len(delays[channel.name]),
            _percentile(delays[channel.name], 50),
            _percentile(delays[channel.name], 90),
        )
        for channel in CHANNELS
    ]


def notice_measures(diary: Diary, away: Sequence[Killed]) -> NoticeMeasures:
    noticed = diary.noticed
    delays = [
        (at - sent) * 1000 for sent, at in zip(noticed.sent, noticed.at, strict=True)
    ]
    silence = max((_silence(diary, killed) for killed in away), default=0.0)
    return NoticeMeasures(len(delays), _percentile(delays, 90), silence)


def _silence(diary: Diary, killed: Killed) -> float:
    """The longest that anybody who heard something before heard nothing in between."""
    heard: dict[str, list[float]] = {}
    noticed = diary.noticed
    for user, at in zip(noticed.user, noticed.at, strict=True):
        heard.setdefault(user, []).append(at)
    longest = 0.0
    for times in heard.values():
        before = [at for at in times if at < killed.at]
        during = [at for at in times if killed.at <= at < killed.back]
        if before:
            points = [before[-1], *during, killed.back]
            longest = max(longest, *(b - a for a, b in pairwise(points)))
    return longest


def _delays(recorded: Recorded, diary: Diary) -> dict[str, list[float]]:
    fed = {key: json.loads(text)["fed_at"] for key, text in diary.texts.items()}
    delays: dict[str, list[float]] = {channel.name: [] for channel in CHANNELS}
    handed = diary.handed
    for epoch, seq, at in zip(handed.epoch, handed.seq, handed.at, strict=True):
        if epoch in recorded.subscriptions:
            channel = recorded.subscriptions[epoch].channel
            delays[channel].append(at - fed[epoch, seq] / 1000)
    return delays


def _percentile(values: Sequence[float], percent: int) -> float | None:
    return float(np.percentile(values, percent)) if values else None
