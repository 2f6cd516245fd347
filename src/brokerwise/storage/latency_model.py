"""A directory with a latency model: data only, checked before it is used."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from brokerwise.latency.models import KINDS, LatencyModel
from brokerwise.model.arrays import Bools, Int64s
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.latency import LatencyRows
from brokerwise.storage.digest import block_digest, json_digest
from brokerwise.storage.header import parse_header
from brokerwise.storage.latency_arrays import SCHEMAS, model_of, model_tables
from brokerwise.storage.output import Output
from brokerwise.storage.place import Place
from brokerwise.storage.tables import (
    read_columns,
    small_table_digest,
    table_of,
    write_table,
)

HEADER = "model.json"
FORMAT = 1
SEEN = pa.schema([("configuration", pa.int64())])
"""Marks of the configurations that a model was trained on."""

_RANGED = ("processing_ms", "rate_per_second")
_HINT = "brokerwise latency train makes one."


@dataclass(frozen=True)
class TrainedOn:
    """Latency data that a model was trained on, all or some of it."""

    path: str
    digest: str
    source: str
    configurations: Mapping[str, int]
    settings: Mapping[str, Any]


@dataclass(frozen=True)
class ModelHeader:
    """What `model.json` says.

    Attributes
    ----------
    kind
        unified or paper.
    most_topics
        On a broker, for the model to know.
    ranges
        The least and the most `processing_ms` and `rate_per_second` of one topic
        that it was trained on.
    scores
        What it came to on configurations that were held back.
    candidates
        What was tried, with R^2 in cross-validation; the best is what it is.
    digest
        Over everything that decides what is predicted.
    """

    kind: str
    most_topics: int
    trained_on: tuple[TrainedOn, ...]
    ranges: Mapping[str, tuple[float, float]]
    scores: Mapping[str, Any]
    candidates: tuple[Mapping[str, Any], ...]
    parameters: Mapping[str, Any]
    seed: int
    version: str
    seconds: Mapping[str, float]
    digests: Mapping[str, str]
    tables: Mapping[str, str]
    format: int = FORMAT
    digest: str = ""

    def __post_init__(self) -> None:
        if not self.digest:
            object.__setattr__(self, "digest", self.content_digest())

    def content_digest(self) -> str:
        parameters = dict(self.parameters)
        return json_digest(
            [self.kind, self.most_topics, parameters, dict(self.digests)]
        )

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Origin:
    """Where a model comes from; `rows` are those that it was trained on."""

    trained_on: Sequence[TrainedOn]
    rows: LatencyRows
    scores: Mapping[str, Any]
    candidates: Sequence[Mapping[str, Any]]
    seed: int
    version: str
    seconds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class StoredModel:
    """A model, and what is known about it; `seen` are marks of configurations."""

    header: ModelHeader
    model: LatencyModel
    seen: Int64s

    def has_seen(self, rows: LatencyRows) -> Bools:
        """Which rows are of configurations that it was trained on."""
        found = np.zeros(len(rows), np.bool_)
        for _, sets in rows.sets():
            marks = configuration_marks(rows, sets)
            found[sets] = np.isin(marks, self.seen)[:, None]
        return found


def stage_latency_model(
    output: Output, model: LatencyModel, origin: Origin
) -> ModelHeader:
    """Write all but the header."""
    parameters, tables = model_tables(model)
    marks = [configuration_marks(origin.rows, sets) for _, sets in origin.rows.sets()]
    tables["seen"] = table_of([np.unique(np.concatenate(marks))], SEEN)
    files = {name: output.file(name) for name in tables}
    for name, table in tables.items():
        write_table(output.root / files[name], table)
    return ModelHeader(
        kind=model.kind,
        most_topics=model.most_topics,
        trained_on=tuple(origin.trained_on),
        ranges=_ranges(origin.rows),
        scores=origin.scores,
        candidates=tuple(origin.candidates),
        parameters=parameters,
        seed=origin.seed,
        version=origin.version,
        seconds=origin.seconds,
        digests={name: small_table_digest(table) for name, table in tables.items()},
        tables=files,
    )


def write_latency_model(
    model: LatencyModel, origin: Origin, place: Place, *, force: bool = False
) -> ModelHeader:
    """Write a model; it appears when it is complete."""
    output = Output.begin(place, HEADER, force=force)
    try:
        header = stage_latency_model(output, model, origin)
        output.commit(header.as_json())
    except BaseException:
        output.abort()
        raise
    return header


def read_latency_model(place: Place) -> StoredModel:
    """Model and header of a directory.

    Raises InputError, which names the file, for what cannot be used, and
    DigestMismatchError for arrays that are not those that were trained.
    """
    header = parse_header(
        place, HEADER, ModelHeader, format=FORMAT, keys={}, hint=_HINT
    )
    schemas = SCHEMAS.get(header.kind)
    if schemas is None:
        raise InputError(
            f"{place / HEADER}: found kind {header.kind!r}, expected "
            f"{' or '.join(KINDS)}"
        )
    tables = {}
    for name, schema in {**schemas, "seen": SEEN}.items():
        if name not in header.tables or name not in header.digests:
            raise InputError(f"{place / HEADER} has no {name!r}")
        file = place / header.tables[name]
        tables[name] = read_columns(file, schema, exact=True)
        digest = small_table_digest(tables[name])
        if digest != header.digests[name]:
            raise DigestMismatchError(str(file), digest, header.digests[name])
    if header.content_digest() != header.digest:
        raise DigestMismatchError(
            str(place / HEADER), header.content_digest(), header.digest
        )
    try:
        model = model_of(header.kind, header.most_topics, header.parameters, tables)
    except InputError as cause:
        raise InputError(f"{place}: {cause.message}") from cause
    return StoredModel(header, model, tables["seen"]["configuration"].to_numpy())


def configuration_marks(rows: LatencyRows, sets: Int64s) -> Int64s:
    """For each of some configurations (their rows, of shape (configurations, topics))
    a number that another one hardly has: it follows from the topics and from what was
    seen of them."""
    marks = []
    for of in sets:
        columns = [getattr(rows, name)[of] for name in (*_RANGED, "mean_ms", "p90_ms")]
        marks.append(int.from_bytes(block_digest(*columns)[:8], "little", signed=True))
    return np.array(marks, np.int64)


def _ranges(rows: LatencyRows) -> dict[str, tuple[float, float]]:
    columns = {name: getattr(rows, name) for name in _RANGED}
    return {name: (float(v.min()), float(v.max())) for name, v in columns.items()}
