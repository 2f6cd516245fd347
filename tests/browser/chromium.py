"""A headless Chromium for tests, where there is one, and what pages in it do."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import pytest
from playwright import async_api
from playwright.sync_api import (
    Browser,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

CHROMIUM = shutil.which("chromium")
ARGUMENTS = (
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WIDE: ViewportSize = {"width": 1280, "height": 800}
NARROW: ViewportSize = {"width": 360, "height": 740}
NEEDS_NO_SCROLLING = """() => {
  const { scrollWidth, scrollHeight } = document.documentElement;
  return scrollWidth <= innerWidth && scrollHeight <= innerHeight;
}"""
PATIENCE_MS = 30_000  # machines that run tests have much to do

expect.set_options(timeout=PATIENCE_MS)
needs_chromium = pytest.mark.skipif(
    CHROMIUM is None, reason="chromium is not installed"
)


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS)
        )
        try:
            yield browser
        finally:
            browser.close()


@asynccontextmanager
async def chromium_beside() -> AsyncIterator[async_api.Browser]:
    """One for tests that do something else at the same time."""
    async with async_api.async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=CHROMIUM, args=list(ARGUMENTS)
        )
        try:
            yield browser
        finally:
            await browser.close()


@dataclass
class Seen:
    """What a page has said, errors among it, and to whom it has spoken."""

    said: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)

    def watch(self, page: Page | async_api.Page) -> None:
        page.on("console", lambda message: self.said.append(message.text))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.on("request", lambda request: self.asked.add(_host(request.url)))
        page.on("websocket", lambda socket: self.asked.add(_host(socket.url)))


def _host(url: str) -> str:
    return url.split("/")[2]


@dataclass
class Opened(Seen):
    """A page, and what it does."""

    page: Page = field(kw_only=True)


@contextmanager
def opened_page(browser: Browser) -> Iterator[Opened]:
    page = browser.new_page(viewport=WIDE, color_scheme="light")
    opened = Opened(page=page)
    opened.watch(page)
    try:
        yield opened
    finally:
        page.close()
