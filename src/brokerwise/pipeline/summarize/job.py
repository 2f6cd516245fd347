"""The whole of `summarize`: message history in, a network directory out."""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.subchannels import Subchannels
from brokerwise.pipeline.ingest.exchange import Exchange
from brokerwise.pipeline.ingest.reasons import Tally
from brokerwise.pipeline.ingest.rejects import refuse_too_many, write_rejected
from brokerwise.pipeline.ingest.sources import Source
from brokerwise.pipeline.ingest.topics import Dictionary
from brokerwise.pipeline.networks.topology import Topology
from brokerwise.pipeline.progress import Progress
from brokerwise.pipeline.session import Session
from brokerwise.pipeline.summarize.interests import (
    Interests,
    Subscriptions,
    attributes_of,
    find_interests,
    read_subscriptions,
    within,
)
from brokerwise.pipeline.summarize.messages import (
    MessageCount,
    count_messages,
    cut_space,
    exchange_messages,
    find_messages,
)
from brokerwise.pipeline.summarize.options import (
    Space,
    SummarizeOptions,
    check_attributes,
)
from brokerwise.pipeline.summarize.traffic import HEADER as TRAFFIC_HEADER
from brokerwise.pipeline.summarize.traffic import write_traffic
from brokerwise.pipeline.tasks import shared
from brokerwise.storage.network import HEADER, NetworkHeader, stage_network
from brokerwise.storage.output import Output, new_output
from brokerwise.storage.place import Place


@dataclass(frozen=True)
class SummarizeResult:
    """What was written, and what was counted on the way."""

    header: NetworkHeader
    messages: int
    rejected: int
    deliveries: int
    false_positive_share: float
    pairs: int | None


@dataclass(frozen=True, eq=False)
class _Input:
    """All that is known before messages are read."""

    options: SummarizeOptions
    topology: Topology
    attributes: tuple[str, ...]
    space: Space | None
    subscriptions: Subscriptions
    sources: list[Source]

    @property
    def users(self) -> int:
        return len(self.topology.users.names)


@dataclass(frozen=True)
class _Run:
    """One run of summarize: what its steps share."""

    spark: SparkSession
    given: _Input
    output: Output
    progress: Progress
    out: str


@dataclass(frozen=True)
class _StagedNetwork:
    """A network that is complete but for its header."""

    header: NetworkHeader
    rejected: list[str]
    counted: MessageCount
    tally: Tally


def summarize(
    options: SummarizeOptions,
    topology: Topology,
    out: Place,
    *,
    session: Session,
    progress: Progress,
    force: bool = False,
    traffic: Place | None = None,
) -> SummarizeResult:
    """Make the network `out`, and its traffic matrix, from a history of messages.

    The same messages give the same network, in whatever order and files they come.
    The driver holds the network and the subscriptions, never messages. `session` is
    opened once all that can be refused without reading messages has been.
    """
    _refuse_wrong_places(options, out, traffic)
    given = _input(options, topology)
    with ExitStack() as outputs:
        output = _begin(outputs, out, HEADER, force)
        matrix = _begin(outputs, traffic, TRAFFIC_HEADER, force) if traffic else None
        with session() as spark:
            run = _Run(spark, given, output, progress, str(out))
            staged = _summarize(run)
            pairs = _traffic(run, staged, matrix) if matrix else None
        files = {"rejected": staged.rejected}
        output.commit({**staged.header.as_json(), "files": files})
    return SummarizeResult(
        staged.header,
        staged.counted.messages,
        _rejected(staged.tally),
        staged.counted.deliveries,
        staged.counted.false_positive_share,
        pairs,
    )


def _input(options: SummarizeOptions, topology: Topology) -> _Input:
    """Everything but the messages, read and checked."""
    attributes = options.attributes or attributes_of(
        options.subscriptions, options.format
    )
    check_attributes(attributes)
    options.intervals(len(attributes))
    space = options.known_space(len(attributes))
    subscriptions = read_subscriptions(
        options.subscriptions, options.format, attributes, topology.users
    )
    sources = find_messages(options, attributes)
    return _Input(options, topology, attributes, space, subscriptions, sources)


def _traffic(run: _Run, staged: _StagedNetwork, matrix: Output) -> int:
    """Write the traffic matrix; returns the number of its pairs."""
    with run.progress.stage("traffic"):
        found = write_traffic(run.spark, run.output.root, staged.header, matrix)
        matrix.commit(found)
    return int(str(found["pairs"]))


def _begin(outputs: ExitStack, place: Place, header: str, force: bool) -> Output:
    return outputs.enter_context(new_output(place.absolute(), header, force=force))


def _summarize(run: _Run) -> _StagedNetwork:
    context, given = run.spark.sparkContext, run.given
    options, users = given.options, given.topology.users.names
    # To the end: Spark may have to read messages again if it loses a machine.
    with shared(context, Dictionary.of(users)) as dictionary:
        with run.progress.stage("read"):
            exchange = exchange_messages(
                context,
                given.sources,
                dictionary,
                len(users),
                given.attributes,
                given.space,
                options.by_bytes,
            )
            tally = exchange.tally()
            refuse_too_many(tally, given.sources, options.max_rejected, run.out)
            period = tally.period_seconds("messages", options.period_seconds)
        with run.progress.stage("cut"):
            subchannels, interests = _cut(given, exchange)
        with run.progress.stage("count"), shared(context, interests) as wanted:
            counted = count_messages(exchange, subchannels, wanted, len(users))
        with run.progress.stage("write"):
            header = stage_network(
                run.output,
                _network(given.topology, subchannels, interests, counted, period),
                made_from=_made_from(options),
                figures=_figures(counted, tally),
            )
            rejected = _write_rejected(run, exchange, tally)
    return _StagedNetwork(header, rejected, counted, tally)


def _network(
    topology: Topology,
    subchannels: Subchannels,
    interests: Interests,
    counted: MessageCount,
    period: int,
) -> Network:
    return Network(
        topology.brokers.capacity,
        topology.links.access,
        topology.links.core,
        counted.published,
        interests.wanted,
        subchannels,
        topology.users.names,
        topology.brokers.names,
        period,
        topology.links.user_points,
        topology.links.broker_points,
    )


def _cut(given: _Input, exchange: Exchange) -> tuple[Subchannels, Interests]:
    options, subscriptions = given.options, given.subscriptions
    intervals = options.intervals(len(given.attributes))
    subchannels = cut_space(
        exchange, given.attributes, intervals, given.space, options.cut
    )
    told = given.space is not None
    low, high = within(subscriptions, subchannels.axes, told=told)
    return subchannels, find_interests(
        subchannels, given.users, subscriptions.user, low, high
    )


def _write_rejected(run: _Run, exchange: Exchange, tally: Tally) -> list[str]:
    if not tally.reasons:
        return []
    (run.output.root / "rejected").make()
    return write_rejected(exchange, [], run.given.sources, run.output, 0)


def _figures(counted: MessageCount, tally: Tally) -> dict[str, Any]:
    return {
        "messages": counted.messages,
        "rejected": _rejected(tally),
        "deliveries": counted.deliveries,
        "exact_deliveries": counted.exact,
        "false_positive_share": counted.false_positive_share,
    }


def _rejected(tally: Tally) -> int:
    return sum(count for count, _ in tally.reasons.values())


def _made_from(options: SummarizeOptions) -> Mapping[str, Any]:
    return {
        "command": "summarize",
        "messages": [str(Place(path)) for path in options.messages],
        "subscriptions": str(Place(options.subscriptions)),
        "cut": options.cut,
        "by": "bytes" if options.by_bytes else "messages",
    }


def _refuse_wrong_places(
    options: SummarizeOptions, out: Place, traffic: Place | None
) -> None:
    """Output among the input would be taken for input the next time; and a network
    and its traffic cannot be in one another."""
    inputs = (*options.messages, options.subscriptions)
    for option, target in (("--out", out), ("--traffic", traffic)):
        for path in inputs:
            if target is not None and _inside(target, Place(path)):
                raise InputError(
                    f"{option} {target} is in {path}, which is read; nothing was "
                    "written",
                    hint=f"Choose an {option} beside the input.",
                )
    if traffic is not None and (_inside(traffic, out) or _inside(out, traffic)):
        raise InputError(
            f"--traffic {traffic} and --out {out} are in one another; nothing was "
            "written",
            hint="Choose two places beside one another.",
        )


def _inside(place: Place, other: Place) -> bool:
    inner, outer = place.local, other.local
    if inner is None or outer is None:
        return place.uri == other.uri
    return inner.resolve().is_relative_to(outer.resolve())
