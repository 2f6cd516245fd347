"""Whose connection our HTTP services keep for the next request."""

import asyncio
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import KEYS, plain_seed, running

from brokerwise.runtime.net.http import HttpClient
from brokerwise.runtime.net.server import HttpConnection
from brokerwise.runtime.protocol.tokens import Role


@pytest.mark.parametrize(
    ("role", "connections"), [(Role.BROKER, 1), (Role.OPERATOR, 1), (Role.USER, 5)]
)
async def test_brokers_and_operators_ask_again_over_the_same_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, role: Role, connections: int
) -> None:
    accepted = 0
    begin = HttpConnection.connection_made

    def count(self: HttpConnection, transport: asyncio.BaseTransport) -> None:
        nonlocal accepted
        accepted += 1
        begin(self, transport)

    monkeypatch.setattr(HttpConnection, "connection_made", count)
    token = KEYS.token(role, "b1")
    async with running(tmp_path, plain_seed(1)) as coordinator, HttpClient() as client:
        for _ in range(5):
            await client.ask(
                f"{coordinator.url}/routes", {"topics": []}, object, token=token
            )
    assert accepted == connections
