"""What is said of a fleet that is ready."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from brokerwise.cli.data_asking import data_status
from brokerwise.cli.fleet_options import with_state
from brokerwise.cli.printable import printable
from brokerwise.cli.table import many
from brokerwise.runtime.fleet.files import FleetFile, fleet_path
from brokerwise.runtime.protocol.data import DataStatus

_SHOWN = 10
_DATA_TRIES = (
    "brokerwise dataset create notes --kind append --column text:string",
    """echo '{"text": "hello"}' | brokerwise feed notes -""",
)
_MORE_TRIES = ("brokerwise channel list", "brokerwise status")


@dataclass(frozen=True)
class FleetUp:
    """A fleet that is ready after so many seconds; `brokers` are process ids, `data`
    is what its data cluster has, or why that is not known."""

    file: FleetFile
    state: Path
    brokers: Mapping[str, int]
    seconds: float
    data: DataStatus | str = ""

    def as_json(self) -> dict[str, Any]:
        return {
            "status": "ready",
            "coordinator": self.file.coordinator,
            "page": self.file.page,
            "pid": self.file.pid,
            "brokers": dict(self.brokers),
            "state": str(self.state),
            "fleet": str(fleet_path(self.state)),
            "plan": self.file.plan,
            "kind": self.file.kind,
            **self._data_json(),
            "seconds": {"total": round(self.seconds, 3)},
        }

    def text(self, *, detached: bool) -> str:
        """Ready, where, and what to try next."""
        up = f"{many(len(self.brokers), 'broker')} up"
        runs = f", running {self.file.plan}" if self.file.plan else ""
        lines = [
            f"ready in {self.seconds:.1f} s: {up} ({self._names()}){runs}",
            f"  page        {self.file.page}",
            f"  coordinator {self.file.coordinator}   (its API: /docs)",
            *self._data_lines(),
            f"  state       {fleet_path(self.state)}, with tokens: keep it to yourself",
            *self._next(),
            self._ending(detached),
        ]
        return printable("\n".join(lines))

    def _data_json(self) -> dict[str, Any]:
        if not self.file.data_cluster:
            return {}
        places = {"data_cluster": self.file.data_cluster, "data": self.file.data}
        if isinstance(self.data, str):
            return places
        return {
            **places,
            "datasets": self.data.datasets,
            "channels": self.data.channels,
        }

    def _data_lines(self) -> list[str]:
        if not self.file.data_cluster:
            return []
        spark = ""
        if not isinstance(self.data, str):
            spark = f"; Spark is {self.data.spark} ({self.data.master})"
        return [
            f"  data        {self.file.data_cluster}   (its API: /docs){spark}",
            f"              kept in {_short(self.file.data)}: {_found(self.data)}",
        ]

    def _names(self) -> str:
        names = list(self.brokers)
        more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
        return ", ".join(names[:_SHOWN] + more)

    def _next(self) -> list[str]:
        """Of a plan the period can be replayed, data can be looked at or begun; else
        a first message can be sent."""
        if self.file.data_cluster:
            tries = [*_DATA_TRIES] if self._is_empty() else [*_MORE_TRIES]
        elif self.file.plan:
            tries = [f"brokerwise replay {quote(self.file.plan)}", "brokerwise status"]
        else:
            tries = ["brokerwise subscribe news", "brokerwise publish news '\"hello\"'"]
        first, second = (with_state(one, self.state) for one in tries)
        return [f"Try: {first}", f"     {second}"]

    def _is_empty(self) -> bool:
        return not isinstance(self.data, str) and not self.data.datasets

    def _ending(self, detached: bool) -> str:
        down = with_state("brokerwise down", self.state)
        return f"End: {down}" if detached else f"End: Ctrl-C, or {down}"


async def fleet_up(
    file: FleetFile, state: Path, brokers: Mapping[str, int], began: float
) -> FleetUp:
    """What there is to say of a fleet that has just become ready."""
    seconds = time.perf_counter() - began
    data = await data_status(file) if file.data_cluster else ""
    return FleetUp(file, state, brokers, seconds, data)


def _found(data: DataStatus | str) -> str:
    if isinstance(data, str):
        return f"what is there is not known yet ({data})"
    if not data.datasets:
        return "nothing there yet"
    there = f"{many(data.datasets, 'dataset')}, {many(data.channels, 'channel')}"
    return f"{there} from before"


def _short(path: str) -> str:
    """As seen from here, if that is shorter."""
    here = Path.cwd()
    inside = Path(path).is_relative_to(here)
    return str(Path(path).relative_to(here)) if inside else path
