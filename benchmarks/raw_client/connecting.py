"""Many connections at once, each step of their greetings together."""

import socket
import struct
from collections.abc import Iterator, Sequence

from benchmarks.raw_client.speech import Exchange

Address = tuple[str, int]
_TOGETHER = 200  # under every backlog of connections that wait to be accepted
_ANSWER_SECONDS = 30.0
_NO_LINGER = struct.pack("ii", 1, 0)  # closed at once: no port waits for anything


def connected(
    address: Address, greetings: Sequence[tuple[Exchange, ...]]
) -> Iterator[tuple[socket.socket, bytes]]:
    """A socket for each greeting, and what came after the last answer."""
    for first in range(0, len(greetings), _TOGETHER):
        some = greetings[first : first + _TOGETHER]
        sockets = [_connected(address) for _ in some]
        beyond = [b""] * len(some)
        for step in range(len(some[0])):
            for its, greeting in zip(sockets, some, strict=True):
                its.sendall(greeting[step][0])
            for i, (its, greeting) in enumerate(zip(sockets, some, strict=True)):
                beyond[i] = _answered(its, greeting[step], beyond[i])
        yield from zip(sockets, beyond, strict=True)


def _connected(address: Address) -> socket.socket:
    its = socket.create_connection(address, timeout=_ANSWER_SECONDS)
    its.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    its.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    return its


def _answered(its: socket.socket, exchange: Exchange, data: bytes) -> bytes:
    """What has come beyond the answer."""
    while (end := exchange[1](data)) is None:
        more = its.recv(65536)
        if not more:
            raise ConnectionError(f"hung up on after {data!r}")
        data += more
    return data[end:]
