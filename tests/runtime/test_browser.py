"""A real browser subscribes with nothing but the lines of docs/protocol.md."""

from pathlib import Path

import pytest
from playwright.sync_api import Browser
from tests.browser.chromium import needs_chromium
from tests.processes import wait_until
from tests.runtime.live import LiveFleet
from tests.runtime.protocol_page import blocks

pytestmark = needs_chromium

PAGE = """<!doctype html>
<meta charset="utf-8">
<ul id="messages"></ul>
<p id="ended"></p>
<script>
%s
function start(url, user, token, topics) {
  subscribe(url, user, token, topics, (message) => {
    const item = document.createElement("li");
    item.textContent = `${message.source}: ${message.data}`;
    document.getElementById("messages").append(item);
  }, (code) => { document.getElementById("ended").textContent = code; });
}
</script>
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "page.html"
    path.write_text(PAGE % blocks("javascript")[0], encoding="utf-8")
    return path


def test_a_page_shows_what_is_published(
    browser: Browser, file: Path, two_brokers: LiveFleet
) -> None:
    token = two_brokers.token("eve")
    url = two_brokers.broker("eve", token)
    said: list[str] = []
    page = browser.new_page()
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(file.as_uri())
    page.evaluate(
        "([url, token]) => start(url, 'eve', token, ['weather'])", [url, token]
    )
    wait_until(lambda: two_brokers.session(url, "eve") is not None, 20)
    wait_until(lambda: "weather" in two_brokers.session(url, "eve")["topics"], 20)
    for seq in (1, 2):
        two_brokers.publish(url, "weather", seq, f"rain {seq} \N{UMBRELLA}")
    page.wait_for_function("document.querySelectorAll('li').length === 2")
    shown = page.locator("li").all_text_contents()
    assert shown == ["bob: rain 1 \N{UMBRELLA}", "bob: rain 2 \N{UMBRELLA}"]
    wait_until(lambda: two_brokers.session(url, "eve")["acknowledged"] == 2, 20)
    assert said == []
    page.close()


def test_a_page_with_a_wrong_token_is_told(
    browser: Browser, file: Path, two_brokers: LiveFleet
) -> None:
    url = two_brokers.broker("eve", two_brokers.token("eve"))
    page = browser.new_page()
    page.goto(file.as_uri())
    page.evaluate("(url) => start(url, 'eve', 'user.ZXZl.00', ['weather'])", url)
    page.wait_for_function("document.getElementById('ended').textContent === '4401'")
    page.close()
