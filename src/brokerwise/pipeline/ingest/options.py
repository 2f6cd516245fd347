"""What the user asked `ingest`, or `ingest --trips`, to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.model.workload import DEFAULT_MESSAGE_BYTES
from brokerwise.pipeline.ingest.columns import Reading
from brokerwise.pipeline.ingest.sources import EVENTS, PAIRS, RATES, SUBSCRIBERS, Kind

FORMATS = ("csv", "tsv", "whitespace", "jsonl", "parquet")
ERROR, DROP = "error", "drop"
REJECT, SUM, LARGEST = "reject", "sum", "largest"
REPEATED = (REJECT, SUM, LARGEST, ERROR)
Columns = Mapping[str, str | int]
_KINDS = (PAIRS, RATES, EVENTS, SUBSCRIBERS)
MOST_WITHIN_MM = 10**9
MOST_TRIP_MS = 7 * 86_400_000
# What RIoTBench's ETL and prediction dataflows take for a message, by the paper.
PROCESSING_MS = (10.0, 20.0, 30.0, 40.0)
Window = tuple[int, int]  # [from, to), milliseconds since 1970


@dataclass(frozen=True)
class IngestOptions:
    """Which files to read, and how.

    Attributes
    ----------
    rate
        The rate of every topic, if there are neither rates nor events.
    pairs_columns, rates_columns, events_columns, subscribers_columns
        For a role (topic, subscriber, rate, time, bytes, ...) the name or 1-based
        number of the column that holds it in files of this kind.
    columns
        The same for files of all kinds; of several names the first that a file has.
    header
        Whether text files start with a line of column names; None: look.
    missing_rate
        What becomes of pairs whose topic has no rate: ERROR, DROP, or a rate.
    repeated_rates
        What becomes of rows that give one topic different rates. REJECT: the largest
        counts, the others are bad rows; LARGEST: it counts, the others are left out;
        SUM: all rows of a topic, also equal ones, add up; ERROR: nothing is written.
    by_bytes
        Rates count bytes, not messages.
    """

    pairs: tuple[str, ...]
    rates: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    subscribers: tuple[str, ...] = ()
    rate: int | None = None
    pairs_columns: Columns = field(default_factory=dict)
    rates_columns: Columns = field(default_factory=dict)
    events_columns: Columns = field(default_factory=dict)
    subscribers_columns: Columns = field(default_factory=dict)
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: bool | None = None
    format: str | None = None
    missing_rate: str | int = ERROR
    repeated_rates: str = REJECT
    max_rejected: float = 0.01
    period_seconds: int | None = None
    message_bytes: int | None = None
    by_bytes: bool = False

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("--pairs: found no file, expected at least one")
        self._check_rates()
        self._check_columns()
        if self.format is not None and self.format not in FORMATS:
            raise InputError(
                f"--format: found {self.format!r}, expected one of "
                + ", ".join(FORMATS)
            )
        if self.by_bytes and self.message_bytes not in (None, 1):
            raise InputError(
                "--message-bytes goes with rates in messages; with --by bytes "
                "a message is one byte"
            )

    def _check_rates(self) -> None:
        """One of rates, events and a rate for all, and what goes with each."""
        given = {"--rates": self.rates, "--events": self.events}
        found = [option for option, files in given.items() if files]
        found += [] if self.rate is None else ["--rate"]
        if len(found) != 1:
            raise InputError(
                "expected one of --rates, --events and --rate, found "
                + (" and ".join(found) or "none of them")
            )
        if self.rate is not None:
            checked_count(self.rate, "--rate")
        if isinstance(self.missing_rate, int):
            checked_count(self.missing_rate, "--missing-rate")
        elif self.missing_rate not in (ERROR, DROP):
            raise InputError(
                f"--missing-rate: found {self.missing_rate!r}, expected error, drop "
                "or a whole number"
            )
        if self.rate is not None and self.missing_rate != ERROR:
            raise InputError("--missing-rate: with --rate every topic has a rate")
        if self.repeated_rates not in REPEATED:
            raise InputError(
                f"--repeated-rates: found {self.repeated_rates!r}, expected one of "
                + ", ".join(REPEATED)
            )
        if self.repeated_rates != REJECT and not self.rates:
            raise InputError("--repeated-rates goes with --rates: there are none")

    def _check_columns(self) -> None:
        for kind in _KINDS:
            told = self._told(kind)
            if told and not getattr(self, kind.name):
                raise InputError(
                    f"{kind.columns_option} goes with --{kind.name}: there are none"
                )
            for role, column in told.items():
                if role not in kind.roles:
                    raise InputError(
                        f"{kind.columns_option}: found {role!r}, expected "
                        + " or ".join(kind.roles)
                    )
                if not str(column).strip():
                    raise InputError(
                        f"{kind.columns_option}: found no column for the {role}, "
                        "expected a name or a number from 1"
                    )
            both = [role for role in self.columns if told and role in kind.roles]
            if both:
                raise InputError(
                    f"--{both[0]}-column and {kind.columns_option} both say where "
                    f"columns of --{kind.name} are; expected one of them",
                    hint="Say it for each kind of files: "
                    f"{' '.join(k.columns_option for k in self._with(both[0]))}.",
                )
        for role, names in self.columns.items():
            self._check_shared(role, names)

    def _check_shared(self, role: str, names: tuple[str, ...]) -> None:
        """Nearly every file has a column of some number: no later name would count."""
        kinds = self._with(role)
        if not any(role in kind.roles for kind in _KINDS):
            known = dict.fromkeys(role for kind in _KINDS for role in kind.roles)
            raise InputError(f"columns: found {role!r}, expected {', '.join(known)}")
        if len(kinds) > 1 and any(name.isdecimal() for name in names[:-1]):
            each = (f"{kind.columns_option} {role}=COLUMN" for kind in kinds)
            raise InputError(
                f"--{role}-column: found {','.join(names)!r}, expected one number, or "
                "names: files of all kinds have a column of the first number",
                hint=f"Say it for each kind of files: {' '.join(each)}",
            )

    def _with(self, role: str) -> list[Kind]:
        """The kinds of files to read that have a role."""
        return [k for k in _KINDS if role in k.roles and getattr(self, k.name)]

    def _told(self, kind: Kind) -> Columns:
        found: Columns = getattr(self, f"{kind.name}_columns")
        return found

    def reading(self, kind: Kind) -> Reading:
        """How to read files of one kind."""
        told = {role: (str(c).strip(),) for role, c in self._told(kind).items()}
        columns = {**self.columns, **told}
        return Reading(columns, self.header, self.format, by_order=not told)

    @property
    def rate_if_missing(self) -> int | None:
        """What topics that only pairs name have as their rate, if they may."""
        if self.rate is not None:
            return self.rate
        return self.missing_rate if isinstance(self.missing_rate, int) else None

    @property
    def unit_bytes(self) -> int:
        """How many bytes a rate of one stands for."""
        return 1 if self.by_bytes else self.message_bytes or DEFAULT_MESSAGE_BYTES


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
