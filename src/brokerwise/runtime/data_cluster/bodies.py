"""What requests look like, for the checks and for the API page.

Those of protocol/data.py are stated again here, with their bounds: what comes from
outside is checked field by field before anything else sees it. Answers are those of
protocol/data.py, but for results, whose data is any JSON object.
"""

from typing import Annotated

from pydantic import BaseModel, Field, FiniteFloat

from brokerwise.runtime.data_cluster.definitions import (
    MAX_COLUMNS,
    MAX_SQL_LENGTH,
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)
from brokerwise.runtime.net.fields import MAX_URL_LENGTH, Body, Count, Name
from brokerwise.runtime.protocol import data
from brokerwise.runtime.protocol.limits import MAX_CURSORS_PER_FRAME

Many = Field(max_length=MAX_CURSORS_PER_FRAME)
BrokerUrl = Annotated[
    str,
    Field(
        max_length=MAX_URL_LENGTH,
        pattern=r"^https?://[0-9A-Za-z._:\[\]%-]+$",
        examples=["http://127.0.0.1:7001"],
    ),
]
# JSON has no tuples and no enumerations: these come as lists and texts.
Kind = Annotated[DatasetKind, Field(strict=False)]
Type = Annotated[ColumnType, Field(strict=False)]
Cursor = Annotated[tuple[Count, Count], Field(strict=False)]


class ColumnBody(Body):
    """A column of a dataset, or a parameter of a channel."""

    name: Name
    type: Type


class DatasetBody(Body):
    """`key` is for keyed datasets: the column that says what a record is about."""

    name: Name
    kind: Kind
    columns: Annotated[list[ColumnBody], Field(max_length=MAX_COLUMNS)]
    key: Annotated[str, Field(max_length=256)] = ""

    def plain(self) -> Dataset:
        """Raises InputError."""
        return Dataset(self.name, self.kind, _columns(self.columns), self.key)


class ChannelBody(Body):
    """`sql` has its parameters as `:name`; `period` is in seconds."""

    name: Name
    sql: Annotated[str, Field(min_length=1, max_length=MAX_SQL_LENGTH)]
    parameters: Annotated[list[ColumnBody], Field(max_length=MAX_COLUMNS)] = Field(
        default_factory=list
    )
    period: FiniteFloat

    def plain(self) -> Channel:
        """Raises InputError."""
        return Channel(self.name, self.sql, _columns(self.parameters), self.period)


class Named(Body):
    name: Name


class BrokerCreation(Body):
    broker: Name
    epoch: Count
    url: BrokerUrl

    def plain(self) -> data.BrokerCreation:
        return data.BrokerCreation(self.broker, self.epoch, self.url)


class Wanted(Body):
    """`cursor` is [epoch, seq]: what the user has seen."""

    user: Name
    topic: Name
    cursor: Cursor | None = None
    latest: bool = False


class SubscribeRequest(Body):
    broker: Name
    epoch: Count
    wanted: Annotated[list[Wanted], Many]

    def plain(self) -> data.SubscribeRequest:
        wanted = (data.Wanted(w.user, w.topic, w.cursor, w.latest) for w in self.wanted)
        return data.SubscribeRequest(self.broker, self.epoch, tuple(wanted))


class Ended(Body):
    user: Name
    topic: Name


class UnsubscribeRequest(Body):
    broker: Name
    epoch: Count
    ended: Annotated[list[Ended], Many]

    def plain(self) -> data.UnsubscribeRequest:
        ended = _ended(self.ended)
        return data.UnsubscribeRequest(self.broker, self.epoch, ended)


class Seen(Body):
    user: Name
    subscription: Count
    seq: Count


class AcknowledgeRequest(Body):
    broker: Name
    epoch: Count
    seen: Annotated[list[Seen], Many] = Field(default_factory=list)
    offline: Annotated[list[Ended], Many] = Field(default_factory=list)
    serving: Annotated[list[Seen], Many] = Field(default_factory=list)

    def plain(self) -> data.AcknowledgeRequest:
        return data.AcknowledgeRequest(
            self.broker,
            self.epoch,
            _seen(self.seen),
            _ended(self.offline),
            _seen(self.serving),
        )


class Pull(Body):
    subscription: Count
    after: Count


class PullRequest(Body):
    broker: Name
    epoch: Count
    pulls: Annotated[list[Pull], Many]

    def plain(self) -> data.PullRequest:
        pulls = (data.Pull(p.subscription, p.after) for p in self.pulls)
        return data.PullRequest(self.broker, self.epoch, tuple(pulls))


class ResultAnswer(BaseModel):
    """One row of a channel's query, as an object; `at` is when its run was
    committed, in milliseconds since 1970."""

    at: float
    data: dict[str, object]


class PulledAnswer(BaseModel):
    """Results `after` + 1, `after` + 2, ... of a subscription; `last` is the newest
    that there is."""

    subscription: int
    after: int
    results: list[ResultAnswer]
    last: int


class PullAnswer(BaseModel):
    """`gone`: subscriptions that there are none of any more. What the answer had no
    room for is left out: ask again."""

    pulled: list[PulledAnswer]
    gone: list[int]


def _columns(columns: list[ColumnBody]) -> tuple[Column, ...]:
    return tuple(Column(column.name, column.type) for column in columns)


def _seen(seen: list[Seen]) -> tuple[data.Seen, ...]:
    return tuple(data.Seen(s.user, s.subscription, s.seq) for s in seen)


def _ended(ended: list[Ended]) -> tuple[data.Ended, ...]:
    return tuple(data.Ended(e.user, e.topic) for e in ended)
