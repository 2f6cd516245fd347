"""Reports in a real browser, where there is one."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.chromium import needs_chromium
from tests.show import test_overlay as overlay
from tests.show import test_profile as profile
from tests.show import test_provision as provision

from brokerwise.show.page import write_page
from brokerwise.show.reports import render

pytestmark = needs_chromium

LIGHT_TEXT = "rgb(26, 33, 41)"
DARK_TEXT = "rgb(232, 236, 240)"
# Ticks come and go while a plot is drawn.
TICKS_ARE = """(colour) => {
  const ticks = [...document.querySelectorAll('.xtick text')];
  return ticks.length > 10 && ticks.every((t) => getComputedStyle(t).fill === colour);
}"""


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    lists = [list(range(n % 9)) for n in range(40)]
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_page(
        path, render(profile.result_of([900, 800, 70, 60, 50, 4, 3, 2, 1], lists))
    )
    return path


@pytest.mark.parametrize("width", [320, 1280])
def test_it_draws_and_fits_without_asking_for_anything(
    browser: Browser, report: Path, width: int
) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": 800}, color_scheme="light"
    )
    asked: list[str] = []
    said: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(report.as_uri())
    page.wait_for_function(TICKS_ARE, arg=LIGHT_TEXT)
    page.wait_for_function(
        "document.querySelectorAll('.scatterlayer .trace').length === 6"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert asked == [report.as_uri()]
    assert said == []
    page.close()


def test_plots_follow_light_dark_and_paper(browser: Browser, report: Path) -> None:
    page = browser.new_page(color_scheme="light")
    page.goto(report.as_uri())
    page.wait_for_function(TICKS_ARE, arg=LIGHT_TEXT)
    page.emulate_media(color_scheme="dark")
    page.wait_for_function(TICKS_ARE, arg=DARK_TEXT)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.wait_for_function(TICKS_ARE, arg=LIGHT_TEXT)
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    page.wait_for_function(TICKS_ARE, arg=DARK_TEXT)
    page.close()


def test_the_keyboard_reaches_every_table(browser: Browser, report: Path) -> None:
    page = browser.new_page()
    page.goto(report.as_uri())
    page.locator("summary").first.focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert focused == "Topics with more followers than"
    page.close()


def test_bars_and_paths_are_drawn(browser: Browser, tmp_path: Path) -> None:
    plans = [provision.result_of(threshold) for threshold in (14, 20, 200)]
    path = tmp_path / "report.html"
    write_page(path, render(provision.several(*plans)))
    page = browser.new_page(viewport={"width": 320, "height": 800})
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    # Three plans: brokers and bandwidth; the fullest broker, the mean, the emptiest.
    bars = 3 * 2 + 3 * 3
    page.wait_for_function(
        f"document.querySelectorAll('.barlayer .point path').length === {bars}"
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 320
    assert said == []
    page.close()


@pytest.mark.parametrize("problem", ["an old browser", "a damaged file"])
def test_without_its_script_a_page_says_so_and_shows_its_tables(
    browser: Browser, report: Path, tmp_path: Path, problem: str
) -> None:
    page = browser.new_page()
    path = tmp_path / "report.html"
    html = report.read_text()
    if problem == "an old browser":
        page.add_init_script("delete window.DecompressionStream;")
    else:
        begin = html.index('id="plotly"') + 1_000_000
        html = html[:begin] + "*" * 100 + html[begin + 100 :]
    path.write_text(html)
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.wait_for_selector("text=This browser cannot unpack the script")
    assert page.locator(".answer").is_visible()
    tables = page.locator("figure table")
    assert tables.count() >= 5
    assert all(tables.nth(at).is_visible() for at in range(tables.count()))
    assert page.locator(".plot").count() == 0
    assert said == []
    page.close()


MARKS = "document.querySelectorAll('#plot-0 .points path').length"
SCALES = """() => {
  const layout = document.getElementById('plot-0')._fullLayout;
  const pixels = (axis) => axis._length / (axis.range[1] - axis.range[0]);
  return pixels(layout.xaxis) / pixels(layout.yaxis);
}"""


def test_a_map_keeps_its_proportions_and_fits(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    write_page(path, render(overlay.result_of()))
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
