"""The page of a plan in a real browser, where there is one."""

import re

import pytest
from playwright.sync_api import expect
from tests.browser.accessibility import problems
from tests.browser.chromium import (
    NARROW,
    NEEDS_NO_SCROLLING,
    WIDE,
    Opened,
    needs_chromium,
)
from tests.show.plans import TOKEN, Plans, served

from brokerwise.show.plan_page import open_view

INKS = "[...document.querySelectorAll('.bar')].map((n) => getComputedStyle(n).fill)"

pytestmark = needs_chromium


def test_a_provision_plan_is_one_screen_and_can_be_searched(
    opened: Opened, plans: Plans
) -> None:
    view, page = open_view(plans.of("provision")), opened.page
    with served(view) as url:
        page.goto(f"{url}/#token={TOKEN}")
        expect(page.locator("#answer")).to_have_text(view.plan["answer"])
        expect(page.locator("#audit")).to_have_text("audited: ok")
        expect(page.locator(".broker")).to_have_count(len(view.plan["brokers"]))
        expect(page.locator(".plot:visible .point")).to_have_count(5)
        assert TOKEN not in page.url
        assert page.evaluate(NEEDS_NO_SCROLLING)

        page.get_by_role("searchbox").fill("world")
        expect(page.locator("#found .why")).to_contain_text('"world" (rate 10) is ')
        page.locator("#found [data-open]").first.click()
        expect(page.locator("#broker-panel")).to_contain_text("Topics on b")
        page.keyboard.press("Escape")
        expect(page.locator("#broker-panel")).to_be_hidden()

        page.get_by_role("tab", name="Where the money goes").click()
        expect(page.locator(".plot:visible .bar")).to_have_count(3)
        page.locator(".plot:visible").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".tip:visible")).to_contain_text("broker-45: ")

        light = page.evaluate(INKS)
        page.get_by_text("dark", exact=True).click()
        assert page.evaluate(INKS) != light
        page.set_viewport_size(NARROW)
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.said == []
    assert opened.asked == {url.split("/")[2]}


def test_an_overlay_is_a_map_that_names_what_is_pointed_at(
    opened: Opened, plans: Plans
) -> None:
    view, page = open_view(plans.of("overlay")), opened.page
    with served(view) as url:
        page.goto(f"{url}/#token={TOKEN}")
        expect(page.locator(".map .user")).to_have_count(30)
        expect(page.locator(".map .site")).to_have_count(4)
        assert page.evaluate(NEEDS_NO_SCROLLING)
        page.locator(".map").focus()
        page.keyboard.press("ArrowRight")
        expect(page.locator(".map .tip")).to_have_text(re.compile("^broker 0: "))
        page.keyboard.press("Enter")
        expect(page.locator("#broker-panel")).to_contain_text("Users on broker 0")
        page.keyboard.press("Escape")
        page.get_by_role("searchbox").fill("subchannel/3")
        expect(page.locator("#found .why")).to_contain_text("subchannel/3")
    assert opened.said == []


def test_without_a_token_the_page_asks_for_it(opened: Opened, plans: Plans) -> None:
    view, page = open_view(plans.of("fill")), opened.page
    with served(view) as url:
        page.goto(url)
        page.get_by_role("textbox", name="Token").fill(TOKEN)
        page.keyboard.press("Enter")
        expect(page.locator("#answer")).to_have_text(view.plan["answer"])


@pytest.mark.parametrize(
    ("kind", "look"),
    [
        *(("provision", "light"), ("overlay", "dark")),
        *(
            pytest.param(kind, look, marks=pytest.mark.long)
            for kind, look in (
                *(("provision", "dark"), ("overlay", "light")),
                *(("fill", "light"), ("fill", "dark")),
                *(("colocate", "light"), ("colocate", "dark")),
            )
        ),
    ],
)
def test_a_plan_can_be_read_by_all(
    opened: Opened, plans: Plans, kind: str, look: str
) -> None:
    view, page = open_view(plans.of(kind)), opened.page
    with served(view) as url:
        page.goto(f"{url}/#token={TOKEN}")
        expect(page.locator("#answer")).to_have_text(view.plan["answer"])
        page.get_by_text(look, exact=True).click()
        for size in (WIDE, NARROW):
            page.set_viewport_size(size)
            for tab in page.get_by_role("tab").all():
                tab.click()
                assert problems(page) == []
            assert page.evaluate(
                "document.documentElement.scrollWidth"
            ) <= page.evaluate("innerWidth")
