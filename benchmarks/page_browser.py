"""The live page in a browser: whether it answers at once, and what it takes.

The fleet is that of benchmarks.page, on paper. A headless Chromium opens the page, is
left alone for some seconds, then goes through all tabs, again and again. A JSON line:
the share of one core that the page's thread is busy while it is only watched, the
longest time that it could not have answered (tasks of more than 50 ms, 0 if there was
none), and how long it took from a click on a tab to the next frame, median and worst.

    python -m benchmarks.page_browser [--brokers 100] [--topics 10000] [--seconds 30]
"""

import argparse
import asyncio
import os
import shutil
import statistics
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks.measuring import print_line
from benchmarks.page import KEYS, paper_fleet, running
from playwright.async_api import CDPSession, Page, async_playwright

from brokerwise.runtime.protocol.tokens import Role

AIM = "no click waits for more than 100 ms at 100 brokers and 10,000 topics"
ROUNDS = 5
LONG_TASKS = """
window.longest = 0;
new PerformanceObserver((list) => {
  for (const task of list.getEntries()) longest = Math.max(longest, task.duration);
}).observe({ type: "longtask" });
"""
CLICK = """(tab) => new Promise((done) => {
  const began = performance.now();
  tab.click();
  const end = () => done(performance.now() - began);
  requestAnimationFrame(() => requestAnimationFrame(end));
})"""


async def busy(session: CDPSession) -> float:
    """Seconds that the thread of the page has worked until now."""
    found: dict[str, Any] = await session.send("Performance.getMetrics")
    values = {metric["name"]: metric["value"] for metric in found["metrics"]}
    return float(values["TaskDuration"])


async def look(page: Page, seconds: float) -> dict[str, float]:
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable")
    await page.evaluate("window.longest = 0")
    before = await busy(session)
    await asyncio.sleep(seconds)
    share = (await busy(session) - before) / seconds
    tabs = await page.get_by_role("tab").element_handles()
    clicks = [await tab.evaluate(CLICK) for _ in range(ROUNDS) for tab in tabs]
    return {
        "core_share": share,
        "longest_task_ms": await page.evaluate("window.longest"),
        "click_ms_median": statistics.median(clicks),
        "click_ms_worst": max(clicks),
    }


async def measure(options: argparse.Namespace) -> None:
    seed, brokers = paper_fleet(options.brokers, options.topics)
    token = KEYS.token(Role.OPERATOR, "operator")
    async with running(seed, brokers) as (coordinator, _), async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.add_init_script(LONG_TASKS)
        await page.goto(f"{coordinator}/#token={token}")
        await page.locator("#topics tbody tr").first.wait_for()
        if await page.locator("[data-broker]").count() != options.brokers:
            sys.exit("the page does not show every broker: a defect")
        found = await look(page, options.seconds)
        await browser.close()
    print_line(
        benchmark="page in a browser",
        brokers=options.brokers,
        topics=options.topics,
        **found,
        aim=AIM,
        cores=os.cpu_count(),
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--brokers", type=int, default=100)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=30.0)
    asyncio.run(measure(parser.parse_args(arguments)))


if __name__ == "__main__":
    main()
