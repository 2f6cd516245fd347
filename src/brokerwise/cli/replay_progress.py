"""How far a replay is, on stderr."""

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

from brokerwise.cli.console import stderr

if TYPE_CHECKING:
    from brokerwise.runtime.load.replay import Stage


class StageBars:
    """A bar for each stage; without a terminal, a line when a stage is over."""

    def __init__(self) -> None:
        self._console = stderr()
        self._bars = Progress(
            TextColumn("{task.description:<10}"),
            BarColumn(bar_width=32),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, float] = {}
        self._told: set[str] = set()

    def __enter__(self) -> "StageBars":
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, stage: "Stage") -> None:
        if stage.name not in self._tasks:
            self._tasks[stage.name] = self._bars.add_task(stage.name, total=stage.total)
            self._began[stage.name] = time.perf_counter()
        self._bars.update(self._tasks[stage.name], completed=stage.done)
        over = stage.done >= stage.total and stage.name not in self._told
        if over and not self._console.is_terminal:
            self._told.add(stage.name)
            seconds = time.perf_counter() - self._began[stage.name]
            self._console.print(f"{stage.name} {stage.done:,} in {seconds:.1f} s")
