"""The checks find what is wrong, and nothing where nothing is."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.accessibility import problems
from tests.browser.chromium import chromium, needs_chromium

pytestmark = needs_chromium

GOOD = """<!doctype html><html lang="en"><title>Good</title>
<style>
body { background: #fff; color: #333 }
:focus-visible { outline: 2px solid }
</style>
<main><h1>One</h1><h2>Two</h2>
<label for="name">Name</label> <input id="name" style="color: #222">
<button>Go</button> <a href="#name">There</a>
<table><caption>Counts</caption><tr><th scope="col">n</th></tr></table>
%s</main></html>"""

WRONG = {
    "<p style='color: #999'>faint</p>": "color-contrast",
    "<p style='opacity: 0.4'>thin</p>": "color-contrast",
    "<svg><text y='9' fill='#999'>mark</text></svg>": 'contrast 2.85: text "mark"',
    "<h4>Deep</h4>": "heading-order",
    "<label for='a'>A</label><p id='a'></p><button></button>": "button-name",
    "<input>": "label: Form elements must have labels",
    "<div role='img'></div>": "role-img-alt",
    "<a href='#name' tabindex='3'>x</a>": "tabindex",
    "<a href='#name' style='outline: none'>x</a>": "focus cannot be seen on a",
    "<div aria-hidden='true'><button>Go</button></div>": "aria-hidden-focus",
}


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    browser: Browser
    with chromium() as browser:
        yield browser.new_page(color_scheme="light")


def test_nothing_is_wrong_with_a_good_page(page: Page) -> None:
    page.set_content(GOOD % "<p hidden style='color: #fff'>unseen</p>")
    assert problems(page) == []


@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_wrong_is_found(page: Page, wrong: str) -> None:
    page.set_content(GOOD % wrong)
    found = problems(page)
    assert len(found) == 1, found
    assert WRONG[wrong] in found[0]


def test_a_page_that_says_nothing_of_itself_is_found(page: Page) -> None:
    page.set_content("<p>Hello")
    rules = {problem.partition(":")[0] for problem in problems(page)}
    assert {"html-has-lang", "document-title", "page-has-heading-one"} <= rules
