"""Takes the pictures of docs/images again: every view, light and dark, wide and narrow.

    python -m tests.docs.take_pictures [live] [plans] [reports]

The live page is that of the emergency city, on brokers and a data cluster that run;
plans and reports are made by the commands, from data of the repository. Takes minutes.
"""

import asyncio
import base64
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, Page, ViewportSize, expect
from tests.browser.chromium import PATIENCE_MS, WIDE, chromium
from tests.docs.pages import ROOT, files
from tests.processes import wait_until
from tests.show.plans import TOKEN, served

from brokerwise.cli.main import run
from brokerwise.runtime.fleet.files import FleetFile, read_fleet
from brokerwise.runtime.fleet.operator import Operator
from brokerwise.show.plan_page import open_view
from brokerwise.storage.place import Place

IMAGES = ROOT / "docs" / "images"
SIZES: dict[str, ViewportSize] = {
    "wide": WIDE,
    "narrow": {"width": 360, "height": 1200},
}
LOOKS = ("light", "dark")
QUALITY = 80
REPORT_HEIGHT = 1400  # so that a plot is seen
CITY_MINUTES = 6
CITY_STARTS_SECONDS = 120
LOST = "b3"  # does not answer while pictures are taken
HISTORY_SECONDS = 170

SMALL = "examples/small"
PREPARE = (
    f"ingest --pairs {SMALL}/pairs.csv.gz --rates {SMALL}/rates.csv --out out/workload",
    "generate network --users 1000 --brokers 20 --seed 1 --out out/network",
    "latency simulate --k 1-3 --configurations 100 --out out/simulated",
    "latency train out/simulated --out out/model",
)
PLANNING = {
    "provision": "provision out/workload --threshold 10,100,1000 --capacity 27000 "
    "--out out/plans",
    "fill": "fill out/workload --brokers 20x100000 --out out/fill",
    "colocate": "colocate topics.csv --model out/model --target-ms 250 --k 3 "
    "--out out/colocate",
    "overlay": "overlay out/network --out out/overlay",
}
PLANS = {
    "provision": "out/plans/100-broker-27000",
    "fill": "out/fill",
    "colocate": "out/colocate",
    "overlay": "out/overlay",
}
OTHERS = {
    "profile": "profile out/workload",
    "balance": "simulate balance --subscribers 1000 --policy planned",
}
REPRODUCE = "reproduce fill --quick --out out/reproduced"


def take(page: Page, name: str, least_height: int = 0) -> None:
    """A picture in each look and size of what a page shows."""
    for size, viewport in SIZES.items():
        height = max(viewport["height"], least_height)
        page.set_viewport_size({"width": viewport["width"], "height": height})
        for look in LOOKS:
            page.emulate_media(color_scheme="dark" if look == "dark" else "light")
            page.wait_for_timeout(700)  # for what moves to its place
            _save(page, IMAGES / f"{name}-{size}-{look}.webp")
    page.set_viewport_size(WIDE)


def _save(page: Page, path: Path) -> None:
    session = page.context.new_cdp_session(page)
    taken = session.send(
        "Page.captureScreenshot", {"format": "webp", "quality": QUALITY}
    )
    session.detach()
    path.write_bytes(base64.b64decode(taken["data"]))
    sys.stderr.write(f"{path.relative_to(ROOT)} {path.stat().st_size:,} bytes\n")


@contextmanager
def city(folder: Path) -> Iterator[FleetFile]:
    """The fleet of a city that plays."""
    options = ("--minutes", str(CITY_MINUTES), "--out", str(folder))
    nearest = ("--placement", "nearest")
    script = ROOT / "examples" / "emergency" / "run.py"
    playing = subprocess.Popen([sys.executable, str(script), *options, *nearest])
    try:
        file = folder / "fleet" / "fleet.json"
        wait_until(file.exists, CITY_STARTS_SECONDS)
        yield read_fleet(folder / "fleet")
    finally:
        playing.send_signal(signal.SIGINT)
        playing.wait()


def take_live(folder: Path) -> None:
    with city(folder / "city") as file:
        status = asyncio.run(Operator(file).status())
        lost = next(broker.pid for broker in status.brokers if broker.broker == LOST)
        with chromium() as browser:
            watch(browser, file.page, lost)


def watch(browser: Browser, address: str, lost: int) -> None:
    """`lost` is the process of the broker that shall not answer."""
    page = browser.new_page(viewport=WIDE)
    page.goto(address)
    patience = 1000 * CITY_STARTS_SECONDS
    busy = re.compile(r"^[1-9]")
    expect(page.locator("#deliveries")).to_have_text(busy, timeout=patience)
    page.wait_for_timeout(1000 * HISTORY_SECONDS)
    with frozen(lost):
        expect(page.locator("#brokers-up-note")).to_contain_text(LOST)
        page.get_by_role("tab", name="Topics").click()
        take_parts(page)
    page.close()


@contextmanager
def frozen(pid: int) -> Iterator[None]:
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def take_parts(page: Page) -> None:
    take(page, "live-fleet")
    page.locator("#dry-run").click()
    expect(page.locator("#proposal-said")).to_contain_text("Max load")
    take(page, "live-balancer")
    page.get_by_role("tab", name="Data").click()
    take(page, "live-data")
    page.get_by_role("tab", name="Events").click()
    take(page, "live-events")
    _try(page)
    take(page, "live-try")
    page.locator('[data-broker="b1"]').click()
    page.locator("#broker-panel table").first.wait_for()
    take(page, "live-broker")


def _try(page: Page) -> None:
    page.get_by_role("tab", name="Try it").click()
    page.locator("#subscribe").click()
    expect(page.locator("#subscribed")).to_contain_text("news on b")
    for text in ("hello", "good morning"):
        page.locator("#message").fill(text)
        page.locator("#publish").click()
        expect(page.locator("#messages .data").first).to_have_text(text)


def take_plans(browser: Browser) -> None:
    for kind, directory in PLANS.items():
        with served(open_view(Place(directory))) as url:
            page = browser.new_page(viewport=WIDE)
            page.goto(f"{url}/#token={TOKEN}")
            page.locator("#answer").wait_for()
            take(page, f"plan-{kind}")
            page.close()


def take_reports(browser: Browser) -> None:
    names = [*PLANS, *OTHERS]
    reports = {name: Path(f"out/{name}.html") for name in names}
    reports["reproduce"] = Path("out/reproduced/report.html")
    for name, path in reports.items():
        page = browser.new_page(viewport=WIDE)
        page.goto(path.resolve().as_uri())
        page.wait_for_function("document.querySelector('.plot .main-svg')")
        take(page, f"report-{name}", REPORT_HEIGHT)
        page.close()


def make(wanted: Sequence[str]) -> None:
    """The plans and reports, by the commands."""
    for name, text in files("docs/colocate.md").items():
        Path(name).write_text(text, encoding="utf-8")
    planning = [f"{line} --report out/{name}.html" for name, line in PLANNING.items()]
    others = [f"{line} --report out/{name}.html" for name, line in OTHERS.items()]
    rest = [*others, REPRODUCE] if "reports" in wanted else []
    for line in (*PREPARE, *planning, *rest):
        code = run(line.split())
        assert code == 0, line


def main(wanted: Sequence[str]) -> None:
    IMAGES.mkdir(exist_ok=True)
    expect.set_options(timeout=PATIENCE_MS)
    with TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("examples").symlink_to(ROOT / "examples")
        if {"plans", "reports"} & set(wanted):
            make(wanted)
        with chromium() as browser:
            if "plans" in wanted:
                take_plans(browser)
            if "reports" in wanted:
                take_reports(browser)
        if "live" in wanted:
            take_live(Path(folder))
        os.chdir(ROOT)


if __name__ == "__main__":
    main(sys.argv[1:] or ("live", "plans", "reports"))
