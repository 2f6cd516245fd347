"""Reports of every kind in a real browser: readable for all, light and dark, wide and
narrow."""

import re
from importlib.resources import files
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.accessibility import problems
from tests.browser.chromium import needs_chromium
from tests.show.samples import EVERY_REPORT, SAMPLES

from brokerwise.show.page import write_page
from brokerwise.show.reports import render

# Of plots that are drawn, all have a frame.
DRAWN = """(ink) => {
  const plots = [...document.querySelectorAll('.plot')];
  const texts = [...document.querySelectorAll('.xtick text, .ytick text')];
  return plots.every((plot) => plot.querySelector('.main-svg'))
    && texts.every((text) => getComputedStyle(text).fill === ink);
}"""
INK = {"light": "rgb(26, 33, 41)", "dark": "rgb(232, 236, 240)"}
WIDTHS = {"light": 1280, "dark": 320}


# They have one template: some are tried each time, all where there is time.
_OFTEN = {("profile", "light"), ("reproduce fill", "dark"), ("moves", "light")}
CASES = [
    pytest.param(name, look, marks=[] if (name, look) in _OFTEN else [pytest.mark.long])
    for name in SAMPLES
    for look in WIDTHS
]


@needs_chromium
@pytest.mark.parametrize(("name", "look"), CASES)
def test_a_report_can_be_read_by_all(
    browser: Browser, name: str, look: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.html"
    write_page(path, render(SAMPLES[name](), EVERY_REPORT))
    page = browser.new_page(color_scheme="light")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((d) => d.open = true)")
    _show(page, look)
    assert problems(page) == []
    assert page.evaluate("document.documentElement.scrollWidth") <= WIDTHS[look]
    assert said == []
    page.close()


def _show(page: Page, look: str) -> None:
    page.set_viewport_size({"width": WIDTHS[look], "height": 800})
    page.emulate_media(color_scheme="dark" if look == "dark" else "light")
    page.wait_for_function(DRAWN, arg=INK[look])


@pytest.mark.parametrize("look", [0, 1], ids=["light", "dark"])
def test_lines_stand_out_from_the_page(look: int) -> None:
    """3:1, which WCAG 2.1 asks for graphics that say something."""
    text = files("brokerwise.show").joinpath("style.css").read_text("utf-8")
    colours = {
        name: values[look]
        for name in ("--page", *(f"--series-{n}" for n in range(5)))
        for values in [re.findall(rf"{name}: (#\w{{6}});", text)]
    }
    page = _luminance(colours.pop("--page"))
    for name, colour in colours.items():
        dark, light = sorted((_luminance(colour), page))
        assert (light + 0.05) / (dark + 0.05) >= 3, name


def _luminance(colour: str) -> float:
    shares = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in shares
    ]
    return sum(
        w * value for w, value in zip((0.2126, 0.7152, 0.0722), linear, strict=True)
    )
