"""The data cluster's HTTP API: its paths, who may call them, what they answer."""

from brokerwise.runtime.data_cluster import bodies
from brokerwise.runtime.data_cluster.cluster import DataCluster
from brokerwise.runtime.data_cluster.endpoints import Endpoints
from brokerwise.runtime.net.api import (
    ANYONE,
    BROKERS,
    OPERATORS,
    Endpoint,
    Service,
    make_service,
)
from brokerwise.runtime.net.fields import Health, Nothing
from brokerwise.runtime.net.gate import Gate
from brokerwise.runtime.protocol import data
from brokerwise.runtime.protocol.limits import MAX_FEED_BYTES
from brokerwise.runtime.protocol.tokens import Keys


def make_app(cluster: DataCluster, keys: Keys) -> Gate:
    """The whole API as an ASGI application; it does not run the data cluster."""
    calls = Endpoints(cluster)
    about = Service(
        title="Brokerwise data cluster",
        description="Keeps datasets, takes feeds, runs channels on Spark, and keeps "
        "their results for brokers. Bodies are JSON; a feed has a line of it for each "
        "record.",
        endpoints=endpoints(calls),
        health=(calls.health, Health),
        metrics=calls.metrics,
    )
    return make_service(about, keys)


def endpoints(calls: Endpoints) -> list[Endpoint]:
    """All but those that are open, and the metrics, which are no JSON."""
    fed, refused = data.Fed, (404, 413)
    feed = Endpoint(
        "POST", "/feed/{dataset}", calls.feed, ANYONE, fed, refused, MAX_FEED_BYTES
    )
    return [feed, *_for_brokers(calls), *_for_operators(calls)]


def _for_brokers(calls: Endpoints) -> list[Endpoint]:
    created, done = data.BrokerCreated, data.Done
    given, pulled = data.SubscribeAnswer, bodies.PullAnswer
    only, stale = BROKERS, (409,)
    return [
        Endpoint("POST", "/createbroker", calls.create_broker, only, created, stale),
        Endpoint("POST", "/subscribe", calls.subscribe, only, given, stale),
        Endpoint("POST", "/unsubscribe", calls.unsubscribe, only, done, stale),
        Endpoint("POST", "/acknowledge", calls.acknowledge, only, done, stale),
        Endpoint("POST", "/results", calls.results, only, pulled, stale),
    ]


def _for_operators(calls: Endpoints) -> list[Endpoint]:
    only, missing, both = OPERATORS, (404,), (404, 409)
    dataset, datasets = data.DatasetStatus, data.Datasets
    channel, channels = data.ChannelStatus, data.Channels
    status = data.DataStatus
    return [
        Endpoint("POST", "/createdataset", calls.create_dataset, only, Nothing, (409,)),
        Endpoint("POST", "/dropdataset", calls.drop_dataset, only, Nothing, both),
        Endpoint("GET", "/datasets", calls.list_datasets, only, datasets),
        Endpoint("GET", "/datasets/{name}", calls.show_dataset, only, dataset, missing),
        Endpoint("POST", "/createchannel", calls.create_channel, only, Nothing, (409,)),
        Endpoint("POST", "/dropchannel", calls.drop_channel, only, Nothing, missing),
        Endpoint("GET", "/channels", calls.list_channels, only, channels),
        Endpoint("GET", "/channels/{name}", calls.show_channel, only, channel, missing),
        Endpoint("GET", "/status", calls.status, only, status),
    ]
