"""Of what brokers say about themselves, the part that those who watch need.

Pages have a line for each topic and session: what is not named here is not decoded.
"""

import msgspec


class TopicLoad(msgspec.Struct, frozen=True, gc=False):
    """Latencies are 0 before anything was delivered."""

    delivered: int = 0
    received_per_second: float = 0.0
    p50_ms: float = 0.0
    p90_ms: float = 0.0


class LoadPage(msgspec.Struct, frozen=True):
    """`GET /load`."""

    topics: dict[str, TopicLoad] = {}


class SessionPage(msgspec.Struct, frozen=True):
    """A session in `GET /sessions`, which has them by user."""

    topics: tuple[str, ...] = ()
