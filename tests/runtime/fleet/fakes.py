"""Fleets of fake processes."""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from brokerwise.runtime.fleet.children import Program
from brokerwise.runtime.fleet.files import start_time
from brokerwise.runtime.fleet.settings import DataClusterSettings, Settings
from brokerwise.runtime.process.launch import Launch

SCRIPT = Path(__file__).with_name("fake_process.py")


async def until(
    condition: Callable[[], bool], seconds: float = 20, why: str = ""
) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"not in time; {why}"
        await asyncio.sleep(0.01)


def gone(pid: int) -> bool:
    return start_time(pid) is None


@dataclass(frozen=True)
class Fakes:
    """What fake processes do, by name, and what they were started with."""

    folder: Path

    def tell(self, name: str, behaviour: str) -> None:
        (self.folder / name).write_text(behaviour)

    def starts(self, name: str = "") -> list[dict[str, Any]]:
        file = self.folder / "starts"
        lines = file.read_text().splitlines() if file.exists() else []
        every = [json.loads(line) for line in lines]
        return [one for one in every if not name or one["name"] == name]

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, str(SCRIPT), str(self.folder))

    def program(self, name: str = "b0", **changes: Any) -> Program:
        launch = Launch(name, "127.0.0.1", 0, {"user": "00"})
        log = self.folder / "logs" / f"{name}.log"
        subject = changes.pop("subject", f"broker {name!r}")
        return Program(self.command, launch, subject, log, **changes)

    def settings(self, **changes: Any) -> Settings:
        quick = {"first_pause": 0.05, "longest_pause": 0.2, "stop_seconds": 2.0}
        commands = {"coordinator": self.command, "broker": self.command}
        return Settings(**{**quick, **commands, **changes})

    def data_cluster(self, **changes: Any) -> DataClusterSettings:
        return DataClusterSettings(command=self.command, **changes)
