"""`brokerwise ingest --trips`."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from brokerwise.cli.console import LiveProgress, print_json, print_result
from brokerwise.cli.options import parse_columns, parse_conf
from brokerwise.model.errors import InputError
from brokerwise.model.units import (
    parse_bytes,
    parse_millimetres,
    parse_seconds,
    parse_share,
)

if TYPE_CHECKING:
    from brokerwise.pipeline.ingest.options import TripOptions
    from brokerwise.pipeline.ingest.trips import TripsIngested

_FIELDS = {
    "--cell": "cell_mm",
    "--within": "within_mm",
    "--longest": "longest_ms",
    "--gps-every": "gps_ms",
    "--update-every": "update_ms",
    "--fold": "fold_ms",
    "--busiest": "busiest_ms",
}


@dataclass(frozen=True)
class TripsRequest:
    """The options that are for trips only, as they were given; None: not given."""

    trips: tuple[str, ...]
    zones: str | None
    lengths: Mapping[str, str | None]
    durations: Mapping[str, str | None]
    processing: Mapping[str, str | None]
    window: str | None
    seed: int | None
    trips_columns: str | None
    columns: Mapping[str, str | None]

    def refuse_alone(self) -> None:
        """Raises InputError for an option that is of no use without --trips."""
        given = {
            "--zones": self.zones,
            **self.lengths,
            **self.durations,
            **self.processing,
            "--window": self.window,
            "--seed": self.seed,
            "--trips-columns": self.trips_columns,
            **{f"--{r.replace('_', '-')}-column": c for r, c in self.columns.items()},
        }
        for option, value in given.items():
            if value is not None:
                raise InputError(f"{option} goes with --trips: there is none")

    def refuse_beside(self, others: Mapping[str, Any]) -> None:
        """Raises InputError for an option that trips take the place of."""
        for option, value in others.items():
            if value not in (None, []):
                raise InputError(
                    f"{option} does not go with --trips, which say it all",
                    hint="Leave out one of them.",
                )

    def options(self, reading: "Reading") -> "TripOptions":
        from brokerwise.pipeline.ingest.options import TripOptions

        given: dict[str, Any] = {}
        for option, text in self.lengths.items():
            if text is not None:
                given[_FIELDS[option]] = parse_millimetres(text, option)
        for option, text in self.durations.items():
            if text is not None:
                given[_FIELDS[option]] = 1000 * parse_seconds(text, option)
        if (text := self.processing["--processing"]) is not None:
            given["processing_ms"] = parse_milliseconds(text, "--processing")
        if (text := self.processing["--update-processing"]) is not None:
            (given["update_processing_ms"],) = parse_milliseconds(
                text, "--update-processing", most=1
            )
        if self.window is not None:
            given["window"] = parse_window(self.window)
        if self.seed is not None:
            given["seed"] = self.seed
        if reading.message_bytes:
            size = parse_bytes(reading.message_bytes, "--message-bytes")
            given["message_bytes"] = size
        return TripOptions(
            trips=self.trips,
            zones=self.zones,
            columns=self._columns(),
            header=reading.header,
            format=reading.format,
            max_rejected=parse_share(reading.max_rejected, "--max-rejected"),
            **given,
        )

    def _columns(self) -> dict[str, tuple[str, ...]]:
        old = {r: tuple(c.split(",")) for r, c in self.columns.items() if c}
        told = parse_columns(self.trips_columns, "--trips-columns")
        if old and told:
            raise InputError(
                f"--{next(iter(old)).replace('_', '-')}-column and --trips-columns "
                "both say where columns of --trips are; expected one of them"
            )
        return {**old, **{role: (column,) for role, column in told.items()}}


@dataclass(frozen=True)
class Reading:
    """How files are read: options that all kinds of files share."""

    header: bool | None
    format: str | None
    max_rejected: str
    message_bytes: str | None


def ingest_trips(
    options: "TripOptions",
    out: str,
    *,
    master: str | None,
    conf: list[str] | None,
    force: bool,
    json: bool,
) -> None:
    """Run it, and print what came of it."""
    from brokerwise.pipeline.ingest.trips import ingest_trips as run
    from brokerwise.storage.place import Place

    settings = parse_conf(conf)
    progress = LiveProgress()
    ingested = run(
        options,
        Place(out),
        session=lambda: progress.session(master, settings),
        progress=progress,
        force=force,
    )
    seconds = {**progress.seconds, "total": progress.total}
    if json:
        print_json(_as_json(ingested, options, out, seconds))
    else:
        print_result(_as_text(ingested, options, out, seconds["total"]))


def parse_milliseconds(
    text: str, option: str, most: int | None = None
) -> tuple[float, ...]:
    """`10,20,30,40`, or one number."""
    try:
        found = tuple(float(part) for part in text.split(","))
        if most is not None and len(found) > most:
            raise ValueError(text)
    except ValueError:
        expected = "milliseconds" + ("" if most == 1 else ", such as 10,20,30,40")
        raise InputError(f"{option}: found {text!r}, expected {expected}") from None
    return found


def parse_window(text: str) -> tuple[int, int]:
    """`FROM..TO`: times as in ISO 8601, UTC if they do not say."""
    begin, dots, end = text.partition("..")
    try:
        if not dots:
            raise ValueError(text)
        return _milliseconds(begin), _milliseconds(end)
    except (ValueError, OverflowError):
        raise InputError(
            f"--window: found {text!r}, expected FROM..TO, such as "
            "2013-01-01T00:00..2013-01-01T01:00"
        ) from None


def _milliseconds(text: str) -> int:
    time = datetime.fromisoformat(text.strip())
    time = time if time.tzinfo else time.replace(tzinfo=UTC)
    return round(time.timestamp() * 1000)


def _window(ingested: "TripsIngested", options: "TripOptions") -> list[str]:
    """What was counted, from when to when; of days that lie over one another the
    time of day."""
    from brokerwise.pipeline.ingest.trips import iso

    if options.fold_ms is None:
        return [iso(time) for time in ingested.window]
    return [str(timedelta(milliseconds=time)) for time in ingested.window]


def _as_json(
    ingested: "TripsIngested",
    options: "TripOptions",
    out: str,
    seconds: dict[str, float],
) -> dict[str, Any]:
    from brokerwise.storage.place import Place

    header = ingested.header
    return {
        "status": "done",
        "out": str(Place(out)),
        "topics": header.topics,
        "subscribers": header.subscribers,
        "pairs": header.pairs,
        "period_seconds": header.period_seconds,
        "message_bytes": header.message_bytes,
        "digest": header.digest,
        "columns": {"trips": list(ingested.columns)},
        "rows": ingested.rows,
        "rejected": ingested.rejected,
        "trips": ingested.trips,
        "regions": ingested.regions,
        "positions": ingested.positions,
        "window": _window(ingested, options),
        "largest_region": ingested.largest,
        "largest_rate_per_second": ingested.largest_per_second,
        "most_taxis": ingested.most_taxis,
        "seconds": seconds,
    }


def _as_text(
    ingested: "TripsIngested", options: "TripOptions", out: str, seconds: float
) -> str:
    from brokerwise.show.numbers import counted

    header = ingested.header
    positions, trips = ingested.positions, ingested.trips
    rejected = f"{counted(ingested.rejected, 'row')} rejected"
    if ingested.rejected:
        rejected += f" (in {out}/rejected)"
    begin, end = _window(ingested, options)
    lines = [
        f"{counted(positions, 'position')} in {counted(ingested.regions, 'region')} "
        f"of {options.cell_mm / 1000:g} m, from {counted(trips, 'trip')}, "
        f"{seconds:.1f} s",
        f"  {begin} to {end}, {counted(header.period_seconds, 'second')}; {rejected}",
    ]
    if ingested.regions:
        lines.append(
            f"  most in region {ingested.largest}: "
            f"{ingested.largest_per_second:.1f} positions/s; "
            f"most taxis at once in a region: {ingested.most_taxis:,}"
        )
    return "\n".join(
        [
            *lines,
            f"Workload: {out} (digest {header.digest[:12]}), "
            f"{counted(header.topics, 'topic')}, "
            f"{counted(header.subscribers, 'subscriber')}",
            f"Next:     brokerwise colocate {out} --model MODEL --target-ms 1000 --k 6",
        ]
    )
