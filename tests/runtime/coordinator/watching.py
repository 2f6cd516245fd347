"""What tests look at while a coordinator works."""

import asyncio
from collections.abc import Callable
from typing import Any

from tests.runtime.coordinator.fakes import Running

from brokerwise.runtime.coordinator.sessions import sessions_of


def where(fleet: Running, user: str) -> list[str]:
    return [session.broker for session in sessions_of(fleet.coordinator.sql, user)]


async def place(fleet: Running, *users: str) -> None:
    for user in users:
        await fleet.done("/requestbroker", {"user": user})


async def move_ended(fleet: Running, number: int = 1) -> dict[str, Any]:
    while True:
        move: dict[str, Any] = await fleet.done(f"/moves/{number}")
        if move["state"] not in ("requested", "accepted"):
            return move
        await asyncio.sleep(0.02)


def in_state(fleet: Running, name: str, state: str) -> Callable[[], bool]:
    def check() -> bool:
        row = fleet.coordinator.sql.execute(
            "SELECT state FROM brokers WHERE name = ?", (name,)
        ).fetchone()
        return bool(row[0] == state)

    return check
