"""How far a feed is, on stderr."""

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

from brokerwise.cli.console import stderr
from brokerwise.cli.table import many

if TYPE_CHECKING:
    from brokerwise.cli.feed_source import FeedSource
    from brokerwise.model.errors import BrokerwiseError
    from brokerwise.runtime.client.data_cluster import FeedResult

_LINE_SECONDS = 5.0  # between lines where there is no terminal


class FeedProgress:
    """A bar on a terminal, else a line now and then."""

    def __init__(self, source: "FeedSource") -> None:
        self._source = source
        self._console = stderr()
        self._bars = Progress(
            BarColumn(bar_width=32),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            console=self._console,
            disable=not self._console.is_terminal,
            transient=True,
        )
        self._bar = self._bars.add_task("feeding", total=source.size or None)
        self._last = time.monotonic()
        self._waiting = False

    def __enter__(self) -> Self:
        self._bars.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bars.stop()

    def show(self, result: "FeedResult") -> None:
        self._waiting = False
        text = f"{many(result.records, 'record')} in"
        self._bars.update(self._bar, completed=self._source.done, description=text)
        now = time.monotonic()
        if not self._console.is_terminal and now - self._last >= _LINE_SECONDS:
            self._last = now
            self._console.print(f"{self._share()}{text}")

    def retrying(self, error: "BrokerwiseError") -> None:
        """Said once, until it goes on."""
        if not self._waiting:
            self._console.print(f"waiting for the data cluster: {error.message}")
        self._waiting = True

    def _share(self) -> str:
        size = self._source.size
        return f"{self._source.done / size:.0%}  " if size else ""
