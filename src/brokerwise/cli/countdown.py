"""How far long work is, and how long it will still take."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from brokerwise.cli.console import stderr

_LINE_SECONDS = 5.0  # between lines where there is no terminal


class Moment(Protocol):
    """Parts done, of how many, in what, and the seconds that the rest will take."""

    @property
    def cell(self) -> str: ...
    @property
    def done(self) -> int: ...
    @property
    def of(self) -> int: ...
    @property
    def seconds_left(self) -> float: ...


@contextmanager
def counting_down(console: Console | None = None) -> Iterator[Callable[[Moment], None]]:
    """Shows moments as they come: a bar on a terminal, else a line now and then."""
    console = console or stderr()
    if not console.is_terminal:
        yield _Lines(console)
        return
    columns = (BarColumn(bar_width=32), TextColumn("{task.description}"))
    with Progress(*columns, console=console, transient=True) as bars:
        bar = bars.add_task("getting ready", total=None)

        def show(moment: Moment) -> None:
            bars.update(
                bar,
                completed=moment.done,
                total=moment.of,
                description=_line(moment),
            )

        yield show


class _Lines:
    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = -_LINE_SECONDS

    def __call__(self, moment: Moment) -> None:
        now = time.monotonic()
        if now - self._last < _LINE_SECONDS and moment.done < moment.of:
            return
        self._last = now
        self._console.print(_line(moment))


def _line(moment: Moment) -> str:
    count = f"{moment.done:,}/{moment.of:,}"
    if moment.done == moment.of:
        return f"{count}  done"
    return f"{count}  {left(moment.seconds_left)}  {moment.cell}"


def left(seconds: float) -> str:
    """`about 3 h 20 min left`."""
    minutes = round(seconds / 60)
    if minutes < 2:
        return f"about {max(1, round(seconds))} s left"
    hours, rest = divmod(minutes, 60)
    return f"about {hours} h {rest} min left" if hours else f"about {minutes} min left"
