"""What on a page is hard to use: for those who see little, or use a keyboard or a
screen reader.

Of what is visible once nothing moves, in the colours and at the width that the page
has: the rules of axe, and what it does not judge: text in drawings, and whether focus
can be seen.
"""

from pathlib import Path
from typing import Any

from axe_playwright_python.base import AXE_SCRIPT
from playwright import async_api, sync_api

_OTHERS = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
# What draws plots has thousands of elements, none of which axe can judge.
_AXE = """async () => {
  await Promise.allSettled(document.getAnimations().map(({ finished }) => finished));
  return axe.run({ exclude: [[".main-svg"]] }, { resultTypes: ["violations"] });
}"""


def problems(page: sync_api.Page) -> list[str]:
    page.evaluate(AXE_SCRIPT)
    return [*_sentences(page.evaluate(_AXE)), *page.evaluate(_OTHERS)]


async def problems_of(page: async_api.Page) -> list[str]:
    await page.evaluate(AXE_SCRIPT)
    return [*_sentences(await page.evaluate(_AXE)), *await page.evaluate(_OTHERS)]


def _sentences(found: dict[str, Any]) -> list[str]:
    return [
        f"{violation['id']}: {violation['help']}: {node['html'][:200]}"
        for violation in found["violations"]
        for node in violation["nodes"]
    ]
