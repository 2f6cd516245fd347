"""Telling brokers that there are new results, until they know."""

import asyncio
import logging
import ssl
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Protocol, TypeVar

from brokerwise.model.errors import BrokerwiseError
from brokerwise.runtime.data_cluster.brokers import KnownBroker
from brokerwise.runtime.protocol.data import Notification
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two attempts
MOST_TOLD = 10_000  # subscriptions in one notification

_log = logging.getLogger(__name__)


class Ask(Protocol):
    """As `wire.requests.ask`."""

    async def __call__(
        self,
        url: str,
        body: object,
        kind: type[T],
        *,
        token: str,
        seconds: float,
        ssl: ssl.SSLContext | None,
    ) -> T: ...


@dataclass(eq=False)
class _Line:
    """What there is to tell a broker: by channel, the subscriptions with news. Those
    in `told` have been sent, and the broker has not pulled since."""

    broker: KnownBroker
    news: dict[str, dict[int, float]] = field(default_factory=dict)
    told: set[int] = field(default_factory=set)
    sending: asyncio.Task[None] | None = None

    def add(self, channel: str, numbers: Iterable[int], at: float) -> None:
        new = {number: at for number in numbers if number not in self.told}
        if new:
            self.news.setdefault(channel, {}).update(new)

    def take(self) -> tuple[str, dict[int, float]]:
        """The news of one channel, from here on told: the broker may pull before
        its answer has come."""
        channel, waiting = next(iter(self.news.items()))
        taken = dict(islice(waiting.items(), MOST_TOLD))
        for number in taken:
            del waiting[number]
        if not waiting:
            del self.news[channel]
        self.told.update(taken)
        return channel, taken

    def put_back(self, channel: str, taken: dict[int, float]) -> None:
        """It was not heard; what was pulled meanwhile is known all the same."""
        unheard = {n: at for n, at in taken.items() if n in self.told}
        self.told.difference_update(unheard)
        if unheard:
            self.news.setdefault(channel, {}).update(unheard)

    def pulled(self, numbers: set[int]) -> None:
        self.told -= numbers
        for waiting in self.news.values():
            for number in numbers & waiting.keys():
                del waiting[number]
        self.news = {c: waiting for c, waiting in self.news.items() if waiting}


class Notifier:
    """Sends each broker its news, one request after the other, and again until it is
    answered. Nobody waits for it; leaving the context ends all of it, and what was
    not sent is lost: `behind` in subscriptions.py finds it again."""

    def __init__(self, ask: Ask, token: str, tls: ssl.SSLContext | None) -> None:
        self._ask = ask
        self._token = token
        self._tls = tls
        self._lines: dict[str, _Line] = {}

    async def __aenter__(self) -> "Notifier":
        return self

    async def __aexit__(self, *_: object) -> None:
        ended = [self._end(line) for line in self._lines.values()]
        self._lines.clear()
        await asyncio.gather(*filter(None, ended), return_exceptions=True)

    def tell(
        self, broker: KnownBroker, channel: str, numbers: Iterable[int], at: float
    ) -> None:
        """These subscriptions have results of a run that was executed `at`. Those
        that the broker has been told of and not pulled since are passed over."""
        line = self._line(broker)
        line.add(channel, numbers, at)
        if line.news and line.sending is None:
            line.sending = asyncio.create_task(self._send(line))

    def pulled(self, broker: str, numbers: Iterable[int]) -> None:
        """The broker is about to have all results of these that there are now."""
        if line := self._lines.get(broker):
            line.pulled(set(numbers))

    def forget(self, broker: str) -> None:
        """The broker is there no more, or under another epoch."""
        if line := self._lines.pop(broker, None):
            self._end(line)

    def _line(self, broker: KnownBroker) -> _Line:
        line = self._lines.get(broker.name)
        if line is None or line.broker != broker:
            self.forget(broker.name)
            line = self._lines[broker.name] = _Line(broker)
        return line

    async def _send(self, line: _Line) -> None:
        pause = FIRST_PAUSE
        try:
            while line.news:
                heard = await self._try(line, first=pause == FIRST_PAUSE)
                if heard:
                    pause = FIRST_PAUSE
                else:
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LONGEST_PAUSE)
        finally:
            line.sending = None

    async def _try(self, line: _Line, *, first: bool) -> bool:
        channel, taken = line.take()
        try:
            await self._say(line.broker, channel, taken)
        except BrokerwiseError as cause:
            line.put_back(channel, taken)
            if first:
                _log.warning("broker %s is not told: %s", line.broker.name, cause)
            return False
        return True

    async def _say(
        self, broker: KnownBroker, channel: str, taken: dict[int, float]
    ) -> None:
        at = max(taken.values())
        await self._ask(
            f"{broker.url}/notify",
            Notification(channel, tuple(taken), channelExecutionEpochTime=at),
            dict[str, Any],
            token=self._token,
            seconds=REQUEST_SECONDS,
            ssl=self._tls,
        )

    @staticmethod
    def _end(line: _Line) -> "asyncio.Task[None] | None":
        if line.sending is not None:
            line.sending.cancel()
        return line.sending
