"""What the user asked `ingest` to do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from brokerwise.model.errors import InputError
from brokerwise.model.units import checked_count
from brokerwise.model.workload import DEFAULT_MESSAGE_BYTES

FORMATS = ("csv", "tsv", "whitespace", "jsonl", "parquet")
ERROR, DROP = "error", "drop"


class ReadOptions(Protocol):
    """How to read files, as IngestOptions has it."""

    @property
    def columns(self) -> Mapping[str, tuple[str, ...]]: ...

    @property
    def header(self) -> bool | None: ...

    @property
    def format(self) -> str | None: ...


@dataclass(frozen=True)
class IngestOptions:
    """Which files to read, and how.

    Attributes
    ----------
    columns
        For a role (topic, subscriber, rate, time, bytes, ...) the names or 1-based
        numbers of the column that holds it; of several the first that a file has.
    header
        Whether text files start with a line of column names; None: look.
    missing_rate
        What becomes of pairs whose topic has no rate: ERROR, DROP, or a rate.
    by_bytes
        Rates count bytes, not messages.
    """

    pairs: tuple[str, ...]
    rates: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
    subscribers: tuple[str, ...] = ()
    columns: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    header: bool | None = None
    format: str | None = None
    missing_rate: str | int = ERROR
    max_rejected: float = 0.01
    period_seconds: int | None = None
    message_bytes: int | None = None
    by_bytes: bool = False

    def __post_init__(self) -> None:
        if not self.pairs:
            raise InputError("--pairs: found no file, expected at least one")
        if bool(self.rates) == bool(self.events):
            raise InputError(
                "expected either --rates or --events, "
                f"found {'both' if self.rates else 'neither'}"
            )
        if self.format is not None and self.format not in FORMATS:
            raise InputError(
                f"--format: found {self.format!r}, expected one of "
                + ", ".join(FORMATS)
            )
        if isinstance(self.missing_rate, int):
            checked_count(self.missing_rate, "--missing-rate")
        elif self.missing_rate not in (ERROR, DROP):
            raise InputError(
                f"--missing-rate: found {self.missing_rate!r}, expected error, drop "
                "or a whole number"
            )
        if self.by_bytes and self.message_bytes not in (None, 1):
            raise InputError(
                "--message-bytes goes with rates in messages; with --by bytes "
                "a message is one byte"
            )

    @property
    def unit_bytes(self) -> int:
        """How many bytes a rate of one stands for."""
        return 1 if self.by_bytes else self.message_bytes or DEFAULT_MESSAGE_BYTES
