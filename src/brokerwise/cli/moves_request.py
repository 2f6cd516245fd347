"""What `brokerwise moves` is asked for."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerwise.model.errors import InputError
from brokerwise.model.units import (
    parse_byte_rate,
    parse_bytes,
    parse_seconds,
    parse_share,
)

if TYPE_CHECKING:
    from brokerwise.runtime.protocol.balance import AutomaticOptions

_HEX = set("0123456789abcdef")
LEAST_DIGITS = 6


@dataclass(frozen=True)
class MovesRequest:
    """As given on the command line; None: not given."""

    dry_run: bool
    approve: str | None
    automatic: bool
    manual: bool
    pause: bool
    resume: bool
    list: int
    policy: str | None
    alpha: float | None
    beta: str | None
    gamma: float | None
    theta: str | None
    max_moves: int | None
    max_state: str | None
    hot_only: str | None
    capacity: str | None
    broker_hour: float | None
    every: str | None
    window: str | None
    hourly_moves: int | None
    report: Path | None = None

    def action(self) -> str:
        """What to do; `show` if nothing was said. Raises InputError for two at once,
        and for options that the one has not."""
        named = ("dry_run", "approve", "automatic", "manual", "pause", "resume", "list")
        given = [name for name in named if getattr(self, name) not in (None, False)]
        asked = [name.replace("_", "-") for name in given]
        if len(asked) > 1:
            raise InputError(f"--{asked[0]} and --{asked[1]}: only one of them")
        action = asked[0] if asked else "show"
        if action == "approve":
            self._check_digest()
        if self.report is not None:
            _check_report(self.report, action)
        alone = self._given(self.every, self.window, self.hourly_moves)
        if alone and action != "automatic":
            raise InputError(
                "--every, --window and --hourly-moves: found without --automatic, "
                "which they are for"
            )
        if self._options() and action not in ("dry-run", "automatic"):
            raise InputError(
                "options for a plan: found without --dry-run or --automatic, which "
                "they are for"
            )
        return action

    def options(self) -> "AutomaticOptions":
        """As the coordinator takes them."""
        from brokerwise.runtime.protocol.balance import AutomaticOptions

        return AutomaticOptions(**self._options())

    def _options(self) -> dict[str, Any]:
        """Those that were given."""
        found = {
            "policy": self._policy(),
            "alpha": self.alpha,
            "beta": self._bandwidth("beta"),
            "gamma": self.gamma,
            "theta": self._bandwidth("theta"),
            "max_moves": self.max_moves,
            "max_bytes": self._parsed(parse_bytes, "max_state"),
            "hot": self._parsed(parse_share, "hot_only"),
            "capacity": self._bandwidth("capacity"),
            "broker_hour": self.broker_hour,
            "every_seconds": self._parsed(parse_seconds, "every"),
            "window_seconds": self._parsed(parse_seconds, "window"),
            "hourly_moves": self.hourly_moves,
        }
        return {name: value for name, value in found.items() if value is not None}

    def _policy(self) -> str | None:
        from brokerwise.planners.balance.problem import POLICIES
        from brokerwise.planners.control import check_name

        if self.policy is not None:
            check_name("--policy", self.policy, POLICIES)
        return self.policy

    @property
    def digest(self) -> str:
        """What is approved; empty if nothing is."""
        return (self.approve or "").lower()

    def _check_digest(self) -> None:
        digest = self.digest
        if len(digest) < LEAST_DIGITS or not set(digest) <= _HEX or len(digest) > 64:
            raise InputError(
                f"--approve: found {self.approve!r}, expected a digest that a dry run "
                f"showed, or at least its first {LEAST_DIGITS} digits"
            )

    def _bandwidth(self, field: str) -> Any:
        return self._parsed(parse_byte_rate, field)

    def _parsed(self, parse: Any, field: str) -> Any:
        text = getattr(self, field)
        option = f"--{field.replace('_', '-')}"
        return None if text is None else parse(text, option)

    def _given(self, *values: object) -> bool:
        return any(value is not None for value in values)


def _check_report(report: Path, action: str) -> None:
    from brokerwise.show.page import refuse_unwritable

    if action == "list":
        raise InputError("--report and --list: only one of them")
    refuse_unwritable(report)
