"""What is said of a fleet that is ready."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from shlex import quote
from typing import Any

from brokerwise.cli.fleet_options import with_state
from brokerwise.cli.printable import printable
from brokerwise.runtime.fleet.files import FleetFile, fleet_path

_SHOWN = 10


@dataclass(frozen=True)
class FleetUp:
    """A fleet that is ready after so many seconds; `brokers` are process ids."""

    file: FleetFile
    state: Path
    brokers: Mapping[str, int]
    seconds: float

    def as_json(self) -> dict[str, Any]:
        return {
            "status": "ready",
            "coordinator": self.file.coordinator,
            "pid": self.file.pid,
            "brokers": dict(self.brokers),
            "state": str(self.state),
            "fleet": str(fleet_path(self.state)),
            "plan": self.file.plan,
            "kind": self.file.kind,
            "seconds": {"total": round(self.seconds, 3)},
        }

    def text(self, *, detached: bool) -> str:
        """Ready, where, and what to try next."""
        count = len(self.brokers)
        up = f"{count:,} broker{'' if count == 1 else 's'} up"
        runs = f", running {self.file.plan}" if self.file.plan else ""
        lines = [
            f"ready in {self.seconds:.1f} s: {up} ({self._names()}){runs}",
            f"  coordinator {self.file.coordinator}   (its API: /docs)",
            f"  state       {fleet_path(self.state)}, with tokens: keep it to yourself",
            *self._next(),
            self._ending(detached),
        ]
        return printable("\n".join(lines))

    def _names(self) -> str:
        names = list(self.brokers)
        more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
        return ", ".join(names[:_SHOWN] + more)

    def _next(self) -> list[str]:
        """Of a plan the period can be replayed; else a first message can be sent."""
        if self.file.plan:
            tries = [f"brokerwise replay {quote(self.file.plan)}", "brokerwise status"]
        else:
            tries = ["brokerwise subscribe news", "brokerwise publish news '\"hello\"'"]
        first, second = (with_state(one, self.state) for one in tries)
        return [f"Try: {first}", f"     {second}"]

    def _ending(self, detached: bool) -> str:
        down = with_state("brokerwise down", self.state)
        return f"End: {down}" if detached else f"End: Ctrl-C, or {down}"
