"""The page in a real browser, on a real fleet: what an operator does there."""

import asyncio
import os
import re
import signal
from collections.abc import AsyncIterator, Coroutine
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from playwright.async_api import Page, expect
from tests.browser.chromium import (
    PATIENCE_MS,
    WIDE,
    Seen,
    chromium_beside,
    needs_chromium,
)

from brokerwise.runtime.client.client import Client
from brokerwise.runtime.fleet.files import FleetFile
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.runtime.fleet.seeds import seed_of_count
from brokerwise.runtime.fleet.supervisor import running_fleet

PLACES = ((0.0, 0.0), (10.0, 0.0), (20.0, 0.0))
USERS = 24
TOPICS = 6

pytestmark = needs_chromium

expect.set_options(timeout=PATIENCE_MS)


@asynccontextmanager
async def traffic(file: FleetFile) -> AsyncIterator[None]:
    """Users who all live beside b0, and somebody who writes to them."""
    operator = Operator(file)
    async with AsyncExitStack() as stack:
        for number in range(USERS):
            name = f"u{number:02}"
            token = await operator.register(name, (number / USERS, 0.0))
            client = Client(file.coordinator, name, token)
            await stack.enter_async_context(client)
            await client.subscribe([f"topic-{number % TOPICS}"])
            await stack.enter_async_context(beside(listen(client)))
        token = await operator.register("writer", (0.0, 0.0))
        writer = Client(file.coordinator, "writer", token)
        await stack.enter_async_context(writer)
        await stack.enter_async_context(beside(write(writer)))
        yield


async def listen(client: Client) -> None:
    async for _ in client.events():
        pass


async def write(client: Client) -> None:
    while True:
        for topic in range(TOPICS):
            await client.publish(f"topic-{topic}", "x" * 200)
        await asyncio.sleep(0.1)


@asynccontextmanager
async def beside(work: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@asynccontextmanager
async def shown(file: FleetFile, seen: Seen) -> AsyncIterator[Page]:
    async with chromium_beside() as browser:
        page = await browser.new_page(viewport=WIDE)
        page.set_default_timeout(PATIENCE_MS)
        seen.watch(page)
        await page.goto(file.page)
        yield page


async def subscribe_and_publish(page: Page) -> str:
    """Returns the broker that the page is on."""
    await page.get_by_role("tab", name="Try it").click()
    await page.get_by_label("Topic", exact=True).fill("hello")
    await page.get_by_role("button", name="Subscribe", exact=True).click()
    mine = page.locator("#subscribed li")
    await expect(mine).to_contain_text("hello on b")
    await page.get_by_label("Message", exact=True).fill("good morning")
    await page.get_by_role("button", name="Publish").click()
    await expect(page.locator("#messages .data")).to_have_text("good morning")
    return (await mine.locator("span").inner_text()).removeprefix("hello on ")


async def see_the_skew(page: Page) -> None:
    """All users are on b0: its bar is the only one that is not small."""
    await expect(page.locator("#sessions")).to_have_text(str(USERS + 1))
    await expect(page.locator("#cov")).to_have_text(re.compile(r"^1\."))
    heights = await page.evaluate(
        """() => [...document.querySelectorAll('[data-broker]')].map((broker) =>
            broker.querySelector('.fill').getBoundingClientRect().height)"""
    )
    assert heights[0] > 5 * max(heights[1:]), heights


async def approve_a_dry_run(page: Page) -> None:
    await page.get_by_role("button", name="Dry run").first.click()
    await expect(page.locator("#proposal-said")).to_contain_text("Max load")
    await expect(page.locator("#changes tbody tr")).to_have_count(len(PLACES))
    await page.get_by_role("button", name="Approve").click()
    await expect(page.locator("#proposal-said")).to_contain_text("done")
    await expect(page.locator("#cov")).to_have_text(re.compile(r"^0\.[0-2]"))


async def kill_a_broker(page: Page, file: FleetFile, name: str) -> None:
    """Another process is there for it within a second; it is said all the same."""
    await page.get_by_role("tab", name="Events").click()
    os.kill(await process_of(file, name), signal.SIGKILL)
    gone = page.locator(
        '#events :is([data-what="broker restarted"], [data-what="broker lost"])'
    )
    await expect(gone.first).to_contain_text(f"Broker {name}")


async def freeze_a_broker(page: Page, file: FleetFile, name: str) -> None:
    """It is lost for as long as nothing is heard of it."""
    bar = page.locator(f'[data-broker="{name}"]')
    await expect(bar).to_have_attribute("data-state", "up")
    frozen = await process_of(file, name)
    os.kill(frozen, signal.SIGSTOP)
    try:
        await expect(bar).to_have_attribute("data-state", "lost")
        await expect(page.locator("#brokers-up-note")).to_contain_text(f"{name} gone")
    finally:
        os.kill(frozen, signal.SIGCONT)
    await expect(bar).to_have_attribute("data-state", "up")


async def process_of(file: FleetFile, name: str) -> int:
    status = await Operator(file).status()
    return next(broker.pid for broker in status.brokers if broker.broker == name)


async def story(directory: Path, seen: Seen) -> None:
    seed = seed_of_count(len(PLACES), "nearest", places=PLACES)
    async with (
        asyncio.timeout(240),
        running_fleet(seed, state=directory) as fleet,
        traffic(fleet.file),
        shown(fleet.file, seen) as page,
    ):
        mine = await subscribe_and_publish(page)
        await see_the_skew(page)
        await approve_a_dry_run(page)
        other = next(name for name in ("b2", "b1") if name != mine)
        await kill_a_broker(page, fleet.file, other)
        await freeze_a_broker(page, fleet.file, other)


def test_subscribe_see_a_skew_approve_and_lose_a_broker(tmp_path: Path) -> None:
    seen = Seen()
    asyncio.run(story(tmp_path / "fleet", seen))
    assert seen.said == []
    assert {host.rpartition(":")[0] for host in seen.asked} == {"127.0.0.1"}
