"""A workload directory: read it, write it, and what its header says."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.interests import BLOCK, Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import Workload
from brokerwise.storage.header import DigestedHeader, parse_header
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place
from brokerwise.storage.subscribers import (
    Block,
    PartDigests,
    blocks_per_part,
    digests_of,
    part_digests,
    read_part,
    write_part,
)
from brokerwise.storage.tables import (
    COMPRESSION,
    NO_COLUMNS,
    block_digest,
    check_columns,
    json_digest,
    open_parquet,
    refuse_missing_values,
    table_digest,
)

_COLUMNS = ("topic", "name", "rate")
_OPTIONAL = pa.schema([("publishers", pa.int64()), ("processing_ms", pa.float64())])
HEADER = "workload.json"
FORMAT = 1
_DIGESTS = ("topics", "interests", "subscribers")


@dataclass(frozen=True, eq=False)
class TopicColumns:
    """What is known of each topic, in order of their ids; None: of none of them."""

    rates: Int64s
    names: Names
    publishers: Int64s | None = None
    processing_ms: Float64s | None = None

    @classmethod
    def of(cls, workload: Workload) -> "TopicColumns":
        return cls(
            workload.rates,
            workload.topic_names,
            workload.publishers,
            workload.processing_ms,
        )

    def digest(self) -> str:
        """The same whether there was ever a column for what is not known."""
        known = self.publishers is not None or self.processing_ms is not None
        more = (self.publishers, self.processing_ms) if known else ()
        blocks = []
        for start in range(0, len(self.rates), BLOCK):
            end = start + BLOCK
            names = Names(self.names.data, self.names.offsets[start : end + 1])
            optional = [None if c is None else c[start:end] for c in more]
            blocks.append(block_digest(self.rates[start:end], names, *optional))
        return table_digest(blocks)


def write_topics(root: Place, name: str, topics: TopicColumns) -> str:
    """Write the topics table; returns its digest."""
    columns: dict[str, Any] = {
        "topic": np.arange(len(topics.rates), dtype=np.int32),
        "name": topics.names.to_arrow(),
        "rate": topics.rates,
    }
    for column in _OPTIONAL.names:
        if (values := getattr(topics, column)) is not None:
            columns[column] = values
    filesystem, path = (root / "topics" / name).open()
    pq.write_table(
        pa.table(columns),
        path,
        filesystem=filesystem,
        compression=COMPRESSION,
        row_group_size=BLOCK,
        use_dictionary=False,
    )
    return topics.digest()


def read_topic_columns(place: Place, files: Iterable[str]) -> TopicColumns:
    """The topics that some files of a workload hold, in order of their ids."""
    table = pa.concat_tables([_read_topics(place / "topics" / name) for name in files])
    if not np.array_equal(table["topic"], np.arange(len(table))):
        raise InputError(f"{place}: the topics must be numbered from 0, in order")
    held = table.column_names
    return TopicColumns(
        table["rate"].to_numpy(),
        Names.from_arrow(table["name"]),
        *(table[f].to_numpy() if f in held else None for f in _OPTIONAL.names),
    )


def _read_topics(file: Place) -> pa.Table:
    with open_parquet(file) as parquet:
        held = parquet.schema_arrow
        check_columns(file, held, NO_COLUMNS, optional=_OPTIONAL)
        optional = [name for name in _OPTIONAL.names if name in held.names]
        table = parquet.read(columns=[*_COLUMNS, *optional])
    for name in optional:
        refuse_missing_values(file, name, table[name])
    return table


@dataclass(frozen=True)
class WorkloadHeader(DigestedHeader):
    """What `workload.json` says. `files` names every file that belongs to it."""

    topics: int
    subscribers: int
    pairs: int
    period_seconds: int
    message_bytes: int
    digests: Mapping[str, str]
    files: Mapping[str, list[str]]
    made_from: Mapping[str, Any] = field(default_factory=dict)
    format: int = FORMAT
    digest: str = ""

    def content_digest(self) -> str:
        """The digest of everything that a plan depends on."""
        content = [self.period_seconds, self.message_bytes, dict(self.digests)]
        return json_digest(content)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def read_header(place: Place) -> WorkloadHeader:
    """The header of the workload at `place`."""
    return parse_header(
        place,
        HEADER,
        WorkloadHeader,
        format=FORMAT,
        keys={"digests": _DIGESTS, "files": (*_DIGESTS, "rejected")},
        hint="Make one with: brokerwise ingest --pairs ... --rates ... --out DIR",
    )


def read_workload(place: Place, *, verify: bool = False) -> Workload:
    """The whole workload in memory; with `verify`, its digest is recomputed."""
    header = read_header(place)
    if verify:
        verify_digest(place, header)
    topics = read_topic_columns(place, header.files["topics"])
    blocks = [b for name in header.files["interests"] for b in read_part(place, name)]
    interests = _joined_interests(blocks)
    _check_counts(place, header, len(topics.rates), interests)
    return Workload(
        topics.rates,
        interests,
        topics.names,
        _joined_names([b.names for b in blocks]),
        header.period_seconds,
        header.message_bytes,
        _optional([b.thresholds for b in blocks]),
        _optional([b.places for b in blocks]),
        publishers=topics.publishers,
        processing_ms=topics.processing_ms,
    )


def read_topics(place: Place, header: WorkloadHeader) -> tuple[Int64s, Names]:
    """The rates and names of all topics, in order of their ids."""
    topics = read_topic_columns(place, header.files["topics"])
    return topics.rates, topics.names


def write_workload(
    workload: Workload,
    place: Place,
    *,
    force: bool = False,
    made_from: Mapping[str, Any] | None = None,
) -> WorkloadHeader:
    """Write a workload from memory; it appears when it is complete."""
    with new_output(place, HEADER, force=force) as output:
        prepare(output)
        per_part = blocks_per_part(workload.subscribers, workload.pairs)
        blocks = list(_blocks(workload))
        parts: dict[str, PartDigests] = {}
        for number, start in enumerate(range(0, len(blocks), per_part)):
            name = output.part(number)
            parts[name] = write_part(
                output.root, name, blocks[start : start + per_part]
            )
        header = finish_header(
            output,
            topics=TopicColumns.of(workload),
            parts=parts,
            subscribers=workload.subscribers,
            pairs=workload.pairs,
            period_seconds=workload.period_seconds,
            message_bytes=workload.message_bytes,
            made_from=made_from or {},
        )
        output.commit(header.as_json())
    return header


def digest_of(workload: Workload) -> str:
    """The digest that a workload in memory has, or would have, on disk."""
    parts = digests_of(_blocks(workload))
    return WorkloadHeader(
        topics=workload.topics,
        subscribers=workload.subscribers,
        pairs=workload.pairs,
        period_seconds=workload.period_seconds,
        message_bytes=workload.message_bytes,
        digests={
            "topics": TopicColumns.of(workload).digest(),
            "interests": table_digest(parts.interests),
            "subscribers": table_digest(parts.subscribers),
        },
        files={},
    ).digest


def prepare(output: Output) -> None:
    """Make the directories of a workload under construction."""
    for table in ("topics", "interests", "subscribers", "rejected"):
        (output.root / table).make()


def finish_header(
    output: Output,
    *,
    topics: TopicColumns,
    parts: Mapping[str, PartDigests],
    rejected: list[str] | None = None,
    **facts: Any,
) -> WorkloadHeader:
    """Write the topics of an output whose parts are written, and sum it all up."""
    name = output.part(0)
    digest = write_topics(output.root, name, topics)
    interests = [d for part in parts.values() for d in part.interests]
    subscribers = [d for part in parts.values() for d in part.subscribers]
    return WorkloadHeader(
        topics=len(topics.rates),
        digests={
            "topics": digest,
            "interests": table_digest(interests),
            "subscribers": table_digest(subscribers),
        },
        files={
            "topics": [name],
            "interests": list(parts),
            "subscribers": list(parts),
            "rejected": rejected or [],
        },
        **facts,
    )


def verify_digest(place: Place, header: WorkloadHeader) -> None:
    """Recompute a workload's digest from its files; refuse if it differs."""
    parts = [part_digests(place, name) for name in header.files["interests"]]
    verify_digests(place, header, parts)


def verify_digests(
    place: Place, header: WorkloadHeader, parts: list[PartDigests]
) -> None:
    """Refuse a workload whose topics, or parts with these digests, have changed."""
    found = {
        "topics": read_topic_columns(place, header.files["topics"]).digest(),
        "interests": table_digest(d for part in parts for d in part.interests),
        "subscribers": table_digest(d for part in parts for d in part.subscribers),
    }
    for table, digest in found.items():
        if digest != header.digests[table]:
            raise DigestMismatchError(f"{place / table}", digest, header.digests[table])
    header.verify(place / HEADER)


def _blocks(workload: Workload) -> Iterator[Block]:
    interests, names = workload.interests, workload.subscriber_names
    for start in range(0, workload.subscribers, BLOCK):
        end = min(start + BLOCK, workload.subscribers)
        offsets = interests.offsets[start : end + 1]
        yield Block(
            start,
            Names(names.data, names.offsets[start : end + 1]).compact(),
            offsets - offsets[0],
            interests.topics[offsets[0] : offsets[-1]],
            None if workload.thresholds is None else workload.thresholds[start:end],
            None if workload.places is None else workload.places[start:end],
        )


def _check_counts(
    place: Place, header: WorkloadHeader, topics: int, interests: Interests
) -> None:
    counts = {
        "topics": (topics, header.topics),
        "subscribers": (interests.subscribers, header.subscribers),
        "pairs": (interests.pairs, header.pairs),
    }
    for what, (found, expected) in counts.items():
        if found != expected:
            raise InputError(
                f"{place}: its files hold {found:,} {what}, {HEADER} says {expected:,}"
            )


def _joined_interests(blocks: list[Block]) -> Interests:
    lengths = [np.zeros(1, np.int64), *(np.diff(b.offsets) for b in blocks)]
    topics = [np.zeros(0, np.int32), *(b.topics for b in blocks)]
    return Interests(np.cumsum(np.concatenate(lengths)), np.concatenate(topics))


def _joined_names(names: list[Names]) -> Names:
    arrays = [n.to_arrow() for n in names]
    return Names.from_arrow(pa.chunked_array(arrays, pa.string()))


def _optional(arrays: list[Any]) -> Any:
    return np.concatenate(arrays) if arrays and arrays[0] is not None else None
