"""The coordinator's HTTP API: its paths, who may call them, what they answer."""

from brokerwise.runtime.coordinator import balance_endpoints, bodies, watch_endpoints
from brokerwise.runtime.coordinator.coordinator import Coordinator
from brokerwise.runtime.coordinator.endpoints import Endpoints
from brokerwise.runtime.net import fields
from brokerwise.runtime.net.api import (
    ANYONE,
    BROKERS,
    OPERATORS,
    USERS,
    Endpoint,
    Service,
    make_service,
)
from brokerwise.runtime.net.gate import Gate
from brokerwise.runtime.protocol import control


def make_app(coordinator: Coordinator) -> Gate:
    """The whole API as an ASGI application; it does not run the coordinator."""
    calls = Endpoints(coordinator)
    balance = balance_endpoints.BalanceEndpoints(coordinator)
    watch = watch_endpoints.WatchEndpoints(coordinator)
    about = Service(
        title="Brokerwise coordinator",
        description="Registers brokers and users, places sessions, keeps routes, "
        "drives moves and drains, and balances load. All bodies are JSON.",
        endpoints=[
            *endpoints(calls),
            *balance_endpoints.endpoints(balance),
            *watch_endpoints.endpoints(watch),
        ],
        health=(calls.health, fields.Health),
        metrics=calls.metrics,
        pages=watch_endpoints.pages(),
    )
    return make_service(about, coordinator.keys)


def endpoints(calls: Endpoints) -> list[Endpoint]:
    """All but those that are open, and the metrics, which are no JSON."""
    return [*_for_brokers(calls), *_for_users(calls), *_for_operators(calls)]


def _for_brokers(calls: Endpoints) -> list[Endpoint]:
    configured, heard = control.BrokerConfiguration, control.HeartbeatAnswer
    return [
        Endpoint("POST", "/registerbroker", calls.register_broker, BROKERS, configured),
        Endpoint("POST", "/heartbeat", calls.heartbeat, BROKERS, heard),
        Endpoint("POST", "/leaving", calls.leaving, BROKERS, fields.Nothing),
        Endpoint("POST", "/join", calls.join, BROKERS, control.JoinAnswer, (409,)),
    ]


def _for_users(calls: Endpoints) -> list[Endpoint]:
    answer, axes = control.BrokerAnswer, bodies.SubchannelsAnswer
    return [
        Endpoint("POST", "/requestbroker", calls.request_broker, USERS, answer),
        Endpoint("POST", "/routes", calls.routes, ANYONE, bodies.RoutesAnswer),
        Endpoint("GET", "/subchannels", calls.subchannels, ANYONE, axes),
    ]


def _for_operators(calls: Endpoints) -> list[Endpoint]:
    user, move, moves = bodies.UserAnswer, bodies.MoveAnswer, bodies.MovesAnswer
    status, drain, done = bodies.StatusAnswer, bodies.DrainAnswer, fields.Nothing
    only = OPERATORS
    return [
        Endpoint("POST", "/registeruser", calls.register_user, only, user),
        Endpoint("POST", "/moves", calls.request_move, only, move, (404, 409)),
        Endpoint("GET", "/moves", calls.list_moves, only, moves),
        Endpoint("GET", "/moves/{id}", calls.show_move, only, move, (404,)),
        Endpoint("POST", "/drain", calls.drain, only, drain, (404, 409)),
        Endpoint("POST", "/activate", calls.activate, only, done, (404, 409)),
        Endpoint("GET", "/status", calls.status, only, status),
        Endpoint("GET", "/topics", calls.topics, only, bodies.TopicsAnswer),
    ]
