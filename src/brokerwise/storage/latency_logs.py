"""Raw latency logs: one Parquet file a configuration, which also says how it was."""

import os
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.errors import InputError
from brokerwise.storage.latency_data import LOGS
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import COMPRESSION, open_parquet
from brokerwise.storage.tables import check_columns, readable

FOLDER = "logs"
LATE_MS = 5.0  # a message that is sent so much after its time is late
LATE_SHARE = 0.01  # of all, from which on a configuration was not what it should be
WARM_UP = 5  # the first fifth of each publisher's messages does not count
_FACTS = b"brokerwise.configuration"
_NAME = re.compile(r"configuration-(\d{5,})\.parquet")


@dataclass(frozen=True)
class LoggedTopic:
    """A topic of a configuration. Each publisher has `messages` to send, `rate_each`
    of them a second on average."""

    processing_ms: float
    publishers: int
    rate_each: float
    messages: int

    @property
    def rate_per_second(self) -> float:
        return self.publishers * self.rate_each

    @property
    def total(self) -> int:
        """Messages of all its publishers."""
        return self.publishers * self.messages

    @property
    def warm_up(self) -> int:
        """How many of each publisher's first messages do not count."""
        return self.messages // WARM_UP


@dataclass(frozen=True)
class LogFacts:
    """What a log says besides its messages.

    Attributes
    ----------
    seconds
        From the first message to the last delivery, or to the end of waiting.
    cpu_share
        How busy the broker and its workers kept their cores; `others_share` is what
        all other processes took of these cores, `generator_share` how busy the process
        was that sent and received.
    late, worst_late_ms
        Messages that were sent more than LATE_MS after their time, and the most.
    undelivered
        By topic, messages that had not come when waiting ended. Their latencies are
        the time that they had waited until then, so less than what it would have been.
    unsent
        Messages whose time had not come by then. They are not in the log.
    began_at
        Seconds since 1970.
    nice
        Of the broker: below 0 it went before other processes.
    """

    configuration: int
    topics: tuple[LoggedTopic, ...]
    seconds: float
    cpu_share: float
    others_share: float
    generator_share: float
    late: int
    worst_late_ms: float
    undelivered: tuple[int, ...]
    unsent: int
    began_at: float
    nice: int = 0

    @property
    def is_censored(self) -> bool:
        """Whether latencies are lower bounds: not everything came to its end."""
        return self.unsent > 0 or any(self.undelivered)

    @property
    def is_late(self) -> bool:
        """Whether messages did not come at the rate that they should have."""
        return self.late > LATE_SHARE * sum(topic.total for topic in self.topics)


def log_name(configuration: int) -> str:
    return f"configuration-{configuration:05d}.parquet"


def logged(folder: Path) -> dict[int, Path]:
    """The complete logs of a folder, by configuration, ascending."""
    found = {}
    for path in folder.glob("*.parquet") if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match:
            found[int(match[1])] = path
    return dict(sorted(found.items()))


def write_log(path: Path, table: pa.Table, facts: LogFacts) -> None:
    """The file appears when it is complete."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    content = msgspec.json.encode(asdict(facts))
    try:
        pq.write_table(
            table.cast(LOGS).replace_schema_metadata({_FACTS: content}),
            draft,
            compression=COMPRESSION,
        )
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def read_facts(path: Path) -> LogFacts:
    """Raises InputError, which names the file, for one that is none of ours."""
    place = Place(str(path))

    def read() -> pa.Schema:
        with open_parquet(place) as parquet:
            return parquet.schema_arrow

    schema = readable(place, read)
    check_columns(place, schema, LOGS, exact=True)
    try:
        return msgspec.json.decode((schema.metadata or {})[_FACTS], type=LogFacts)
    except (KeyError, msgspec.DecodeError) as cause:
        raise InputError(f"{path} does not say which configuration it is of") from cause


def all_facts(folder: Path) -> Iterator[LogFacts]:
    """Of the complete logs of a folder, by configuration, ascending."""
    for path in logged(folder).values():
        yield read_facts(path)
