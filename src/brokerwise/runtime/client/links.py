"""The connections of a client: one to each broker that it needs."""

import asyncio
import ssl
from collections.abc import Iterator

from brokerwise.runtime.client.errors import LinkLostError
from brokerwise.runtime.client.link import Link, Listener
from brokerwise.runtime.protocol.control import Address
from brokerwise.runtime.protocol.frames import Login
from brokerwise.runtime.protocol.limits import REQUEST_SECONDS


class Links:
    """Opens connections, shares them, and closes them all at the end."""

    def __init__(
        self, login: Login, tls: ssl.SSLContext | None, listener: Listener
    ) -> None:
        self._login = login
        self._tls = tls
        self._listener = listener
        self._by_url: dict[str, Link] = {}
        self._open: dict[int, Link] = {}
        self._dialling: dict[str, asyncio.Task[Link]] = {}
        self._none_open = asyncio.Event()

    def __iter__(self) -> Iterator[Link]:
        return iter(list(self._open.values()))

    def numbered(self, number: int) -> Link | None:
        """The link of a stream, if it is open."""
        return self._open.get(number)

    def usable(self, url: str) -> Link | None:
        link = self._by_url.get(url)
        return link if link is not None and link.is_usable else None

    def is_usable(self, url: str) -> bool:
        return self.usable(url) is not None

    def is_dialling(self, url: str) -> bool:
        return url in self._dialling

    async def reach(self, address: Address) -> Link:
        """A connection that can be used, a new one if need be; one that is silent
        stays open beside it. Whoever else asks meanwhile shares it, so cancelling
        this loses nothing.

        Raises what `Link.open` raises.
        """
        found = self.usable(address.url)
        if found is not None:
            return found
        dialling = self._dialling.get(address.url)
        if dialling is None:
            dialling = asyncio.get_running_loop().create_task(self._dial(address))
            self._dialling[address.url] = dialling
            dialling.add_done_callback(_retrieve)
        return await asyncio.shield(dialling)

    def forget(self, link: Link) -> None:
        """A connection has closed."""
        self._open.pop(link.number, None)
        if self._by_url.get(link.url) is link:
            del self._by_url[link.url]
        if not self._open:
            self._none_open.set()

    async def close(self) -> None:
        """Log out everywhere; what does not close in time is cut off. Cancelling it
        cuts off the rest at once."""
        for task in list(self._dialling.values()):
            task.cancel()
        await asyncio.gather(*self._dialling.values(), return_exceptions=True)
        for link in self:
            if link.is_silent:
                link.abort()
            else:
                link.log_out()
        try:
            async with asyncio.timeout(REQUEST_SECONDS):
                await self._all_closed()
        except TimeoutError:
            pass
        finally:
            for link in self:
                link.abort()
        await self._all_closed()

    async def _all_closed(self) -> None:
        while self._open:
            self._none_open.clear()
            await self._none_open.wait()

    async def _dial(self, address: Address) -> Link:
        link = Link(address, self._login.user, self._listener)
        try:
            await link.open(self._login, self._tls)
        finally:
            del self._dialling[address.url]
        if not link.is_open:
            link.abort()
            raise LinkLostError(link.url, 1006, "it hung up after the login")
        before = self._by_url.get(address.url)
        if before is not None:
            before.retired = True
        self._by_url[address.url] = self._open[link.number] = link
        return link


def _retrieve(task: "asyncio.Task[Link]") -> None:
    """So that a failure that nobody waited for is not complained about."""
    if not task.cancelled():
        task.exception()
