"""Latency data of several directories as one, for models to learn from."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from brokerwise.latency.samples import Subject, join, refuse_too_few
from brokerwise.model.errors import InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.latency_data import LatencyData, read_latency_data
from brokerwise.storage.latency_model import TrainedOn
from brokerwise.storage.place import Place

_SAME = ("cores", "message_bytes")
_TRAFFIC = ("rate_each", "messages", "longest_seconds")


@dataclass(frozen=True, eq=False)
class Gathered:
    """Rows of one kind of broker, and where they come from.

    Attributes
    ----------
    most
        The largest number of topics of a configuration.
    late
        Configurations that were left out: their messages were sent too late.
    larger
        Configurations that were left out: they have more topics than asked for.
    remarks
        What should be known about the mixture.
    """

    subject: Subject
    sources: Sequence[TrainedOn]
    most: int
    late: int
    larger: int
    remarks: Sequence[str]


def gather(
    places: Sequence[Place], most: int | None = None, *, learn: bool = True
) -> Gathered:
    """All configurations of up to `most` topics.

    Raises InputError for data of different brokers, for data that is there twice,
    and, if it is to `learn` from, for too few configurations.
    """
    every = [(place, read_latency_data(place)) for place in places]
    _refuse_twice(every)
    cores = _same_broker(every)
    used = [_used(data, most) for _, data in every]
    rows = join([part for part, _, _ in used])
    what = ", ".join(str(place) for place in places)
    if not len(rows):
        raise InputError(f"{what}: found no configurations that can be used")
    subject = Subject.of(rows, cores)
    largest = int(subject.samples.topics.max())
    if most is not None and largest < most:
        raise InputError(
            f"--k {most}: {what} has configurations of up to {largest} topics",
            hint=f"Measure or simulate larger ones, or use --k {largest}.",
        )
    if learn:
        refuse_too_few(subject.samples, largest, what)
    sources = [
        _trained_on(place, data, part)
        for (place, data), (part, _, _) in zip(every, used, strict=True)
    ]
    return Gathered(
        subject,
        sources,
        largest,
        late=sum(late for _, late, _ in used),
        larger=sum(larger for _, _, larger in used),
        remarks=list(_remarks([data for _, data in every])),
    )


def _used(data: LatencyData, most: int | None) -> tuple[LatencyRows, int, int]:
    """The rows to learn from; how many configurations were late, or too large."""
    rows = data.rows
    listed = data.header.settings.get("late") or ()
    late = np.isin(rows.configuration, np.array(list(listed), np.int64))
    larger = ~late & (rows.sharing() > (most or np.inf))
    kept = rows.take(np.flatnonzero(~late & ~larger))
    numbers = rows.configuration
    return kept, len(np.unique(numbers[late])), len(np.unique(numbers[larger]))


def _trained_on(place: Place, data: LatencyData, rows: LatencyRows) -> TrainedOn:
    return TrainedOn(
        path=place.absolute().without_credentials().uri,
        digest=data.header.digest,
        source=data.header.source,
        configurations={str(k): len(sets) for k, sets in rows.sets()},
        settings=dict(data.header.settings),
    )


def _refuse_twice(every: Sequence[tuple[Place, LatencyData]]) -> None:
    seen: dict[str, Place] = {}
    for place, data in every:
        first = seen.setdefault(data.header.digest, place)
        if first is not place:
            raise InputError(
                f"{place} holds the same rows as {first}",
                hint="Name each directory once.",
            )


def _same_broker(every: Sequence[tuple[Place, LatencyData]]) -> float:
    """The cores of the broker that all data is of."""
    for name in _SAME:
        found = [(p, d.header.settings.get(name)) for p, d in every]
        stated = [(place, value) for place, value in found if value is not None]
        if len({value for _, value in stated}) > 1:
            raise InputError(
                f"data of different brokers: one model is for one kind of broker, and "
                f"{name.replace('_', ' ')} differ",
                details=[f"{place}: {value}" for place, value in stated],
                hint="Train a model for each.",
            )
    place, data = every[0]
    cores = next((d.header.settings["cores"] for _, d in every if _has_cores(d)), None)
    if cores is None:
        raise InputError(
            f"{place}/latency.json: found cores {data.header.settings.get('cores')!r} "
            "in settings, expected a number above 0"
        )
    return float(cores)


def _has_cores(data: LatencyData) -> bool:
    cores = data.header.settings.get("cores")
    return isinstance(cores, int | float) and 0 < cores < np.inf


def _remarks(every: Sequence[LatencyData]) -> Iterable[str]:
    sources = {data.header.source for data in every}
    if len(sources) > 1:
        yield f"{' and '.join(sorted(sources))} data together"
    for name in _TRAFFIC:
        values = {data.header.settings.get(name) for data in every}
        if len(values) > 1:
            said = ", ".join(sorted(str(value) for value in values))
            yield f"data with different {name.replace('_', ' ')} ({said}) together"
