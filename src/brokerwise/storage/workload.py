"""A workload directory: read it, write it, and what its header says."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Int64s
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.workload import Workload
from brokerwise.storage.digest import BLOCK, json_digest, table_digest
from brokerwise.storage.header import parse_header
from brokerwise.storage.output import Output
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
from brokerwise.storage.topics import TopicColumns, read_topic_columns, write_topics

HEADER = "workload.json"
FORMAT = 1
_DIGESTS = ("topics", "interests", "subscribers")


@dataclass(frozen=True)
class WorkloadHeader:
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

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

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
    output = Output.begin(place, HEADER, force=force)
    try:
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
    except BaseException:
        output.abort()
        raise
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
    if header.content_digest() != header.digest:
        raise DigestMismatchError(
            f"{place / HEADER}", header.content_digest(), header.digest
        )


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
