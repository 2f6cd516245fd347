"""From what a drive has left to what is printed."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from brokerwise.experiments.emergency.judging import Judgement, judge
from brokerwise.experiments.taxi.oracle import (
    Stored,
    compare,
    expected_updates,
    is_true,
    stored_records,
)
from brokerwise.experiments.taxi.playing import Driven

TARGET_MS = 1000.0


@dataclass(frozen=True)
class Measures:
    """How a drive went. Latencies are nearest-rank 90th percentiles: of a position,
    from when it was told until its step was done; of an update, from when its newest
    position was told until a taxi had it."""

    taxis: int
    regions: int
    told: int
    dropped: int
    unconfirmed: int
    stored: Stored
    judgement: Judgement
    gaps: int
    runs: int
    skipped: int
    period: float
    gps_p90_ms: float | None
    update_p90_ms: float | None
    seconds: float
    settled: bool

    @property
    def is_good(self) -> bool:
        return (
            self.settled
            and self.stored.is_good
            and self.judgement.is_good
            and self.judgement.handed > 0
            and not (self.unconfirmed or self.gaps)
        )

    def as_json(self) -> dict[str, Any]:
        return {"good": self.is_good, "target_ms": TARGET_MS, **asdict(self)}


def measure(driven: Driven) -> Measures:
    """Compute once more what should be stored and heard, and compare."""
    recorded, diary = driven.recorder.recorded, driven.diary
    records = stored_records(recorded, driven.recorder.kept)
    rows = [record for found in records.values() for record in found]
    told = [each for taxi in driven.taxis for each in taxi.told]
    numbers = {recorded.subscriptions[n].topic: n for n in recorded.lasts}
    return Measures(
        taxis=len(driven.taxis),
        regions=len({position.region for position, _ in told}),
        told=len(told),
        dropped=sum(not is_true(position) for position, _ in told),
        unconfirmed=sum(taxi.lost for taxi in driven.taxis),
        stored=compare(told, rows),
        judgement=judge(diary, expected_updates(recorded, records), numbers),
        gaps=diary.gaps,
        runs=len(recorded.runs),
        skipped=sum(recorded.skipped.values()),
        period=driven.period,
        gps_p90_ms=p90([r["processed_at"] - r["told_at"] for r in rows]),
        update_p90_ms=p90(_delays(driven)),
        seconds=driven.seconds,
        settled=driven.settled,
    )


def _delays(driven: Driven) -> list[float]:
    newest = {k: json.loads(text)["newest"] for k, text in driven.diary.texts.items()}
    handed = driven.diary.handed
    rows = zip(handed.epoch, handed.seq, handed.at, strict=True)
    return [at * 1000 - newest[epoch, seq] for epoch, seq, at in rows]


def p90(values: Sequence[float]) -> float | None:
    """The smallest that at least 90 % do not exceed; None of none."""
    ordered = sorted(values)
    return float(ordered[-(-9 * len(ordered) // 10) - 1]) if ordered else None


def lines(measures: Measures) -> Iterator[str]:
    stored, judged = measures.stored, measures.judgement
    yield (
        f"{measures.taxis} taxis in {measures.regions} regions told "
        f"{measures.told:,} positions in {measures.seconds:.0f} s"
    )
    yield (
        f"  processed: {measures.told - measures.dropped:,} kept, {measures.dropped:,} "
        f"nonsense dropped; p90 {_ms(measures.gps_p90_ms)} (target {TARGET_MS:g} ms)"
    )
    yield (
        f"  stored:    {stored.found:,} of {stored.expected:,}: lost {stored.lost:,}, "
        f"twice {stored.twice:,}, wrong {stored.wrong + stored.strange:,}"
    )
    yield (
        f"  updates:   {judged.handed:,} heard of {measures.runs:,} runs: lost "
        f"{judged.lost:,}, twice {judged.twice:,}, wrong "
        f"{judged.wrong + judged.early + judged.unknown:,}"
    )
    yield (
        f"             p90 {_ms(measures.update_p90_ms)} from the newest position to "
        f"the taxi; the channel is asked every {measures.period:g} s, and that is most "
        "of it"
    )
    if measures.skipped:
        yield f"  beats skipped: {measures.skipped:,}"
    if measures.unconfirmed:
        yield f"  not confirmed by a broker: {measures.unconfirmed:,}"
    if measures.gaps:
        yield f"  taxis were told that {measures.gaps:,} updates will not come"
    if not measures.settled:
        yield "  not everything had arrived when it ended"
    yield from judged.examples


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:,.0f} ms"
