"""What the user asked `ingest --trips` to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.workload import DEFAULT_MESSAGE_BYTES
from brokerwise.pipeline.ingest.options import FORMATS

MOST_WITHIN_MM = 10**9
MOST_TRIP_MS = 7 * 86_400_000
# What RIoTBench's ETL and prediction dataflows take for a message, by the paper.
PROCESSING_MS = (10.0, 20.0, 30.0, 40.0)

Window = tuple[int, int]  # [from, to), milliseconds since 1970


@dataclass(frozen=True)
class TripOptions:
    """Which trips to read, and what to make of them.

    Attributes
    ----------
    zones
        A file of zone,lon,lat, if trips say where they begin and end by zone.
    cell_mm
        The side of a region.
    within_mm
        How far from the centre of the data, east to west and north to south, a trip
        may begin or end.
    gps_ms, update_ms
        Time between two positions of a taxi, and two updates of a region.
    processing_ms
        What the gps topic of a region may take for a message: each has one of these,
        by its name and the seed.
    fold_ms
        Lay all stretches of so long, counted from 1970, over one another; None: time
        goes on.
    busiest_ms
        Count only the busiest stretch of so long; None: everything, or `window`.
    """

    trips: tuple[str, ...]
    zones: str | None = None
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: bool | None = None
    format: str | None = None
    cell_mm: int = 500_000
    within_mm: int = 50_000_000
    gps_ms: int = 1_000
    update_ms: int = 10_000
    longest_ms: int = 6 * 3_600_000
    processing_ms: tuple[float, ...] = PROCESSING_MS
    update_processing_ms: float = 1.0
    fold_ms: int | None = None
    busiest_ms: int | None = None
    window: Window | None = None
    seed: int = 0
    max_rejected: float = 0.01
    message_bytes: int = DEFAULT_MESSAGE_BYTES

    def __post_init__(self) -> None:
        if not self.trips:
            raise InputError("--trips: found no file, expected at least one")
        if self.format is not None and self.format not in FORMATS:
            raise InputError(
                f"--format: found {self.format!r}, expected one of "
                + ", ".join(FORMATS)
            )
        self._check_lengths()
        self._check_processing()
        if self.busiest_ms is not None and self.window is not None:
            raise InputError("expected either --busiest or --window, found both")
        if self.window is not None and self.window[0] >= self.window[1]:
            raise InputError("--window: found no time between its ends")
        if self.fold_ms is not None:
            self._check_fold(self.fold_ms)
        for field_, span in (("--busiest", self.busiest_ms), ("--window", _of(self))):
            if span is not None and (span <= 0 or span % 1000):
                raise InputError(f"{field_}: expected whole seconds, found {span} ms")

    def _check_lengths(self) -> None:
        if not 0 < self.cell_mm <= self.within_mm <= MOST_WITHIN_MM:
            raise InputError(
                f"--cell and --within: found {self.cell_mm / 1000:g} m and "
                f"{self.within_mm / 1000:g} m, expected a cell of at most --within, "
                f"and that at most {MOST_WITHIN_MM // 10**6:,} km"
            )
        for option, value, most in (
            ("--gps-every", self.gps_ms, MOST_TRIP_MS),
            ("--update-every", self.update_ms, MOST_TRIP_MS),
            ("--longest", self.longest_ms, MOST_TRIP_MS),
        ):
            if not 0 < value <= most:
                raise InputError(
                    f"{option}: found {value / 1000:g} s, expected up to "
                    f"{most // 86_400_000} d"
                )

    def _check_fold(self, fold_ms: int) -> None:
        if self.window is not None:
            raise InputError("expected either --fold or --window, found both")
        if fold_ms < self.longest_ms or fold_ms % (self.busiest_ms or 1000):
            raise InputError(
                f"--fold: found {fold_ms / 1000:g} s, expected whole seconds, at least "
                f"--longest ({self.longest_ms / 1000:g} s) and a multiple of --busiest"
            )

    def _check_processing(self) -> None:
        for option, values in (
            ("--processing", self.processing_ms),
            ("--update-processing", (self.update_processing_ms,)),
        ):
            wrong = [v for v in values if not (isfinite(v) and v > 0)]
            if wrong or not values:
                raise InputError(
                    f"{option}: found {wrong[0] if wrong else 'nothing'}, expected "
                    "milliseconds above 0"
                )


def _of(options: TripOptions) -> int | None:
    return None if options.window is None else options.window[1] - options.window[0]
