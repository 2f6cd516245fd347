"""The live page in a real browser, with a coordinator that says what it is told to."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.browser.accessibility import problems
from tests.browser.chromium import (
    NARROW,
    NEEDS_NO_SCROLLING,
    WIDE,
    Opened,
    needs_chromium,
)
from tests.page import lines
from tests.page.pretend import TOKEN, PretendCoordinator, pretend_coordinator
from tests.processes import wait_until

pytestmark = needs_chromium


@pytest.fixture
def coordinator() -> Iterator[PretendCoordinator]:
    with pretend_coordinator() as coordinator:
        coordinator.answers["balance/decisions"] = {"decisions": []}
        yield coordinator


def show(
    opened: Opened, coordinator: PretendCoordinator, *said: dict[str, Any]
) -> Page:
    coordinator.lines.extend(said)
    opened.page.goto(f"{coordinator.url}/#token={TOKEN}")
    return opened.page


@pytest.mark.parametrize("brokers", [5, 100])
def test_a_fleet_is_one_screen_and_stacks_where_it_is_narrow(
    opened: Opened, coordinator: PretendCoordinator, brokers: int
) -> None:
    said = [lines.hello(brokers), lines.tick(brokers, 900, lost=[2])]
    more = [lines.topics(200, brokers), lines.data()]
    page = show(opened, coordinator, *said, *more)
    expect(page.locator("[data-broker]")).to_have_count(brokers)
    expect(page.locator('[data-broker="b2"]')).to_have_attribute("data-state", "lost")
    expect(page.locator('[data-broker="b2"] .time')).to_have_text(
        re.compile(r"^\d\d:\d\d:\d\d$")
    )
    expect(page.locator("#brokers-up")).to_have_text(f"{brokers - 1} of {brokers}")
    expect(page.locator("#cov")).to_have_text(f"{said[1]['cov']:.2f}")
    assert page.evaluate(NEEDS_NO_SCROLLING)
    assert page.url == f"{coordinator.url}/"
    page.set_viewport_size(NARROW)
    for tab in page.get_by_role("tab").all():
        tab.click()
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert opened.said == []
    assert opened.asked == {coordinator.url.removeprefix("http://")}


@pytest.mark.parametrize(
    "look", ["light", pytest.param("dark", marks=pytest.mark.long)]
)
def test_every_part_can_be_read_by_all(
    opened: Opened, coordinator: PretendCoordinator, look: str
) -> None:
    coordinator.answers |= {"balance/plan": lines.proposal(5)}
    coordinator.answers["watch/broker/b1"] = watched_broker()
    said = [lines.hello(5), lines.tick(5, 900, lost=[2])]
    page = show(opened, coordinator, *said, lines.topics(30, 5), lines.data())
    page.get_by_text(look, exact=True).click()
    page.locator("#dry-run").click()
    expect(page.locator("#proposal-said")).to_contain_text("Max load")
    for size in (WIDE, NARROW):
        page.set_viewport_size(size)
        for tab in page.get_by_role("tab").all():
            tab.click()
            assert problems(page) == []
    page.locator('[data-broker="b1"]').click()
    expect(page.locator("#broker-panel")).to_contain_text("1 session")
    assert problems(page) == []
    assert opened.said == []


def watched_broker() -> dict[str, Any]:
    """What a coordinator says of b1 when it is asked for it alone."""
    return {
        **lines.tick(3, 900)["brokers"][1],
        **{"url": "ws://127.0.0.1:4001", "pid": 7, "epoch": 2, "problem": ""},
        **{"topics": lines.topics(2, 1)["topics"], "topic_count": 2},
        **{"session_list": [{"user": "ann", "topics": 2}], "session_count": 1},
    }


def test_what_went_wrong_with_channels_and_datasets_is_said(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    page = show(opened, coordinator, lines.hello(2), lines.tick(2, 900), lines.data())
    page.get_by_role("tab", name="Data").click()
    channels = page.get_by_role("group", name="Channels").locator("tbody tr")
    expect(channels.nth(0)).to_contain_text("none")
    expect(channels.nth(1)).to_contain_text("2: column area: expected text")
    datasets = page.get_by_role("group", name="Datasets").locator("tbody tr")
    expect(datasets).to_contain_text("17: x: expected a number")


def test_names_of_users_are_text_whatever_they_look_like(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    name = "<img src=x onerror=alert(1)>"
    topics = lines.topics(1, 2)
    topics["topics"][0]["topic"] = name
    show(opened, coordinator, lines.hello(2), lines.tick(2, 900), topics)
    expect(opened.page.locator("#topics tbody th")).to_have_text(name)
    assert opened.page.locator("img").count() == 0
    assert opened.said == []


def test_a_lost_connection_is_said_and_comes_back_by_itself(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    banner = page.locator("#connection")
    expect(page.locator("#link")).to_have_text("live")
    expect(banner).to_be_hidden()
    coordinator.away = True
    expect(banner).to_have_text(
        re.compile(
            r"^No connection to the coordinator since \d\d:\d\d:\d\d: .+; trying again$"
        )
    )
    expect(page.locator("[data-broker]")).to_have_count(3)
    coordinator.away = False
    expect(banner).to_be_hidden()
    expect(page.locator("#link")).to_have_text("live")


def test_without_a_token_it_asks_for_one_and_again_if_it_is_wrong(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    coordinator.lines += [lines.hello(3), lines.tick(3, 900)]
    page = opened.page
    page.goto(coordinator.url)
    for token, why in (("wrong", "no token"), (TOKEN, "refused")):
        expect(page.locator("#token-why")).to_contain_text(why)
        page.locator("#token").fill(token)
        page.keyboard.press("Enter")
    expect(page.locator("#token-form")).to_be_hidden()
    expect(page.locator("[data-broker]")).to_have_count(3)
    page.reload()
    expect(page.locator("[data-broker]")).to_have_count(3)


def test_who_types_a_token_is_not_disturbed_and_cannot_do_without(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    page = opened.page
    page.goto(f"{coordinator.url}/#token=wr\u00f6ng")
    expect(page.locator("#token-why")).to_contain_text("no token")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.locator("#token-form")).to_be_visible()
    page.locator("#token").type("half of a")
    page.evaluate("fetch('watch')")
    assert page.locator("#token").input_value() == "half of a"


def test_the_page_of_another_fleet_begins_anew(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    page = show(opened, coordinator, lines.hello(2), lines.tick(2, 900), lines.data())
    page.get_by_role("tab", name="Data").click()
    expect(page.get_by_role("group", name="Datasets")).to_be_visible()
    coordinator.lines[:] = [lines.hello(3), lines.tick(3, 900)]
    page.evaluate(f"location.hash = '#token={TOKEN}'")
    expect(page.locator("[data-broker]")).to_have_count(3)
    expect(page.get_by_role("group", name="Datasets")).to_be_hidden()


def test_a_limit_that_is_none_is_refused_and_the_keyboard_stays_where_it_is(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    coordinator.answers["balance/plan"] = lines.proposal(3)
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    page.get_by_role("tab", name="Balancer").click()
    page.locator("#most-moves").fill("2.5")
    page.locator("#dry-run").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#proposal-said")).to_contain_text("A whole number from 1 on")
    assert coordinator.posted == []
    page.locator("#most-moves").fill("2")
    page.locator("#dry-run").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#proposal-said")).to_contain_text("Max load")
    assert coordinator.posted == [("balance/plan", {"max_moves": 2})]
    assert page.evaluate("document.activeElement.id") == "dry-run"


def test_a_dry_run_is_shown_and_exactly_that_is_approved(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    decision = lines.proposal(3)
    done = {**decision, "state": "done", "outcome": "37 moves: 37 done"}
    coordinator.answers |= {
        "balance/plan": decision,
        "balance/approve": {**done, "begins": True},
    }
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    page.locator("#dry-run").click()
    expect(page.locator("#proposal-said")).to_have_text(
        "Max load 412 \u2192 301 kB/s (best possible 298), total 901 \u2192 901, "
        "cov 0.31 \u2192 0.02, 37 moves, 1.1 kB of state."
    )
    rows = page.locator("#changes tbody tr")
    assert rows.first.locator("th, td").all_inner_texts() == [
        *("b0", "412 kB/s", "301 kB/s", "", "\u221237"),
    ]
    page.locator("#approve").click()
    expect(page.locator("#proposal-said")).to_contain_text("37 done")
    expect(page.locator("#approve")).to_be_hidden()
    assert coordinator.posted == [
        ("balance/plan", {}),
        ("balance/approve", {"digest": decision["digest"]}),
    ]
    assert opened.said == []


def test_who_decides_is_changed_and_by_what_is_kept(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    options = {"policy": "ldm", "alpha": 0.2}
    coordinator.answers |= {"balance": {"options": options}, "balance/mode": {}}
    coordinator.answers["balance/pause"] = {}
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    expect(page.locator("#balancer-status")).to_have_text(
        "Manual: decides only when asked."
    )
    page.get_by_text("automatic", exact=True).click()
    page.locator("#pause").click()
    wait_until(lambda: len(coordinator.posted) == 2, 10)
    assert sorted(coordinator.posted, key=str) == [
        ("balance/mode", {**options, "automatic": True}),
        ("balance/pause", {}),
    ]
    coordinator.lines.append(lines.tick(3, 901, paused=True, mode="automatic"))
    expect(page.locator("#pause")).to_have_text("Resume")
    expect(page.locator("#mode input[value=automatic]")).to_be_checked()


def test_the_keyboard_goes_everywhere(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    coordinator.answers["watch/broker/b1"] = watched_broker()
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    page.locator('[data-broker="b0"]').focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#broker-said")).to_have_text(re.compile("^b1: "))
    page.keyboard.press("Enter")
    panel = page.locator("#broker-panel")
    expect(panel.get_by_text("1 session", exact=True)).to_be_visible()
    expect(panel.get_by_role("row")).to_have_count(3 + 2)
    page.keyboard.press("Escape")
    expect(panel).to_be_hidden()
    expect(page.locator('[data-broker="b1"]')).to_be_focused()
    page.get_by_role("tab", name="Topics").focus()
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#try")).to_be_visible()
    expect(page.locator("#topics")).to_be_hidden()
    assert opened.said == []


def test_it_says_where_a_topic_is_and_why(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    topic = {"topic": "news", "brokers": ["b1"], "home": "", "rate": None}
    why = "placed by round-robin"
    coordinator.answers["watch/find"] = {
        "topics": [{**topic, "target_ms": None, "why": why}],
        "users": [{"user": "news-reader", "sessions": [], "why": "it is offline"}],
        "more": False,
    }
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    page.locator("#find").fill("news")
    found = page.locator('#found [data-topic="news"]')
    expect(found).to_contain_text("news on b1")
    expect(found).to_contain_text(why)
    page.keyboard.press("Escape")
    expect(page.locator("#found")).to_be_hidden()


def test_the_look_that_was_chosen_stays(
    opened: Opened, coordinator: PretendCoordinator
) -> None:
    page = show(opened, coordinator, lines.hello(3), lines.tick(3, 900))
    background = "getComputedStyle(document.body).backgroundColor"
    page.emulate_media(color_scheme="light")
    assert page.evaluate(background) == "rgb(255, 255, 255)"
    page.get_by_text("dark", exact=True).click()
    assert page.evaluate(background) == "rgb(20, 24, 29)"
    page.reload()
    expect(page.locator("html")).to_have_attribute("data-look", "dark")
    assert page.evaluate(background) == "rgb(20, 24, 29)"
    page.get_by_text("auto", exact=True).click()
    assert page.evaluate(background) == "rgb(255, 255, 255)"
