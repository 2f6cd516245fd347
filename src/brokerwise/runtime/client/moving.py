"""A planned move, as the client sees it: from one broker to another, losing nothing."""

import asyncio
from collections.abc import Callable

from brokerwise.runtime.client.errors import LinkLostError
from brokerwise.runtime.client.events import Moved as MovedNotice
from brokerwise.runtime.client.events import Retrying
from brokerwise.runtime.client.link import Link
from brokerwise.runtime.client.setting import Setting
from brokerwise.runtime.client.subscribing import Subscriber
from brokerwise.runtime.net.errors import RefusedError, UnreachableError
from brokerwise.runtime.net.waiting import Backoff
from brokerwise.runtime.protocol.control import Address
from brokerwise.runtime.protocol.frames import (
    Accept,
    Connect,
    Decline,
    Moved,
    RequestToMove,
)
from brokerwise.runtime.protocol.limits import MOVE_SECONDS

CATCH_UP_SECONDS = 5.0
AcceptsMoves = Callable[[RequestToMove], bool]


class Mover:
    """Answers what brokers ask about moves, and carries them out."""

    def __init__(
        self, setting: Setting, subscriber: Subscriber, accepts: AcceptsMoves
    ) -> None:
        self._setting = setting
        self._subscriber = subscriber
        self._accepts = accepts
        self._under_way: set[int] = set()

    def asked(self, link: Link, request: RequestToMove) -> None:
        """The application decides; one that fails to stays where it is."""
        try:
            accepted, reason = self._accepts(request), "declined by the application"
        except Exception as error:
            accepted, reason = False, f"the application failed: {error!r}"[:200]
        answer = Accept(request.move) if accepted else Decline(request.move, reason)
        link.send(answer)

    def ordered(self, link: Link, order: Connect) -> None:
        if order.move not in self._under_way:
            self._under_way.add(order.move)
            self._setting.start(self._move(link, order))

    async def _move(self, old: Link, order: Connect) -> None:
        self._subscriber.moving.add(old)
        try:
            async with asyncio.timeout(MOVE_SECONDS):
                await self._change_over(old, order)
            if old.is_open:
                old.send(Moved(order.move))
                if not order.topics:
                    self._subscriber.home(Address(order.broker, order.url))
                self._setting.tell(MovedNotice(old.broker, order.broker))
        except (TimeoutError, RefusedError, LinkLostError) as error:
            self._setting.tell(Retrying(f"stays at {old.broker}: {error}"))
        finally:
            self._under_way.discard(order.move)
            self._subscriber.moving.discard(old)
            self._subscriber.tidy()
            self._subscriber.repair()

    async def _change_over(self, old: Link, order: Connect) -> None:
        """Until nothing that shall move is left at the old broker: the application may
        subscribe to more meanwhile."""
        if order.url == old.url:
            return
        new = await self._reach(old, Address(order.broker, order.url))
        while old.is_open and (topics := self._to_move(old, order)):
            try:
                await self._subscriber.attach(new, topics, is_quiet=True)
                await self._catch_up(old, new, topics)
            except BaseException:
                self._subscriber.withdraw(topics)
                raise
        if not order.topics:
            self._subscriber.ranges_moved(old, new)

    def _to_move(self, old: Link, order: Connect) -> set[str]:
        here = self._subscriber.following.topics_of(old.number)
        return here & set(order.topics) if order.topics else here

    async def _reach(self, old: Link, to: Address) -> Link:
        backoff = Backoff()
        while True:
            try:
                return await self._setting.links.reach(to)
            except (UnreachableError, LinkLostError) as error:
                if not old.is_open:
                    raise LinkLostError(to.url, 1006, error.message) from error
            await asyncio.sleep(backoff.pause())

    async def _catch_up(self, old: Link, new: Link, topics: set[str]) -> None:
        """Until the new broker needs nothing more from the old one, or the old one is
        too slow with the rest: then that is a gap."""
        following, progressed = self._subscriber.following, self._subscriber.progressed
        loop = asyncio.get_running_loop()
        until = loop.time() + CATCH_UP_SECONDS
        while following.behind(topics) and loop.time() < until:
            await progressed.wait(until - loop.time())
        if not new.is_open:
            raise LinkLostError(new.url, 1006, "it has gone in the middle of a move")
        self._subscriber.leave(old, topics)
