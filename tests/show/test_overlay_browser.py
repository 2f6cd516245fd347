"""The map of an overlay in a real browser, where there is one."""

from pathlib import Path

import pytest
from playwright.sync_api import Page
from tests.browser.chromium import chromium, needs_chromium
from tests.show.test_overlay import result_of

from brokerwise.show.page import write_page
from brokerwise.show.reports import render

pytestmark = needs_chromium

MARKS = "document.querySelectorAll('#plot-0 .points path').length"
SCALES = """() => {
  const layout = document.getElementById('plot-0')._fullLayout;
  const pixels = (axis) => axis._length / (axis.range[1] - axis.range[0]);
  return pixels(layout.xaxis) / pixels(layout.yaxis);
}"""


def test_a_map_keeps_its_proportions_and_fits(tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(path, render(result_of()))
    with chromium() as browser:
        for width in (320, 1280):
            page = browser.new_page(viewport={"width": width, "height": 800})
            _check(page, path, width)


def _check(page: Page, path: Path, width: int) -> None:
    said: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    # Three users, the middle of one link to point at, three brokers.
    page.wait_for_function(f"{MARKS} === 7")
    assert page.evaluate(SCALES) == pytest.approx(1, rel=0.01)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (said, asked) == ([], [path.as_uri()])
    page.close()
