"""What is said of a process that did not come up."""

from pathlib import Path

from brokerwise.model.errors import BrokerwiseError

_TAIL_BYTES = 4096
_SHOWN = 300  # letters of its last line


class StartError(BrokerwiseError):
    """A process of the fleet was not ready in time; `exit_code` is None if it did
    not end either."""

    def __init__(
        self,
        name: str,
        exit_code: int | None,
        last_line: str,
        seconds: float,
        log: Path,
    ) -> None:
        self.name, self.exit_code, self.last_line = name, exit_code, last_line
        happened = (
            f"was not ready within {seconds:g} s"
            if exit_code is None
            else f"exited with {exit_code} before it was ready"
        )
        said = f"last output: {last_line!r}" if last_line else "it said nothing"
        super().__init__(
            f"{self.subject(name)} {happened}; {said}", hint=f"All it said: {log}"
        )

    @staticmethod
    def subject(name: str) -> str:
        return f"broker {name!r}"


class BrokerStartError(StartError):
    """A broker process ended before it announced its port."""


class CoordinatorStartError(StartError):
    """The coordinator ended before it announced its port."""

    @staticmethod
    def subject(name: str) -> str:
        return f"the {name}"


class DataClusterStartError(StartError):
    """The data cluster ended before it announced its port."""

    @staticmethod
    def subject(name: str) -> str:
        return "the data cluster"


def last_line(log: Path, start: int) -> str:
    """The last line that is not empty, of what was added to a log since it was
    `start` bytes long."""
    with log.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(start, size - _TAIL_BYTES))
        lines = file.read().decode(errors="replace").split("\n")
    return next((line.strip() for line in reversed(lines) if line.strip()), "")[:_SHOWN]
