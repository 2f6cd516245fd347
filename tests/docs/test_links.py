"""Links between pages lead somewhere, and every page can be found."""

import os
import re
import runpy

import pytest
from tests.docs.pages import PAGES, ROOT, anchors, links

import brokerwise

FRONT = "README.md"
PICTURES = "docs/images/"


def target(page: str, link: str) -> tuple[str, str]:
    """The file that a link of a page leads to, and the place in it."""
    path, _, anchor = link.partition("#")
    inside = os.path.normpath(os.path.join(os.path.dirname(page), path))
    return (inside if path else page), anchor


@pytest.mark.parametrize("page", PAGES)
def test_every_link_leads_to_a_file_and_a_heading_in_it(page: str) -> None:
    for link in links(page):
        path, anchor = target(page, link)
        assert (ROOT / path).exists(), link
        assert not anchor or anchor in anchors(path), link


def test_every_picture_is_shown() -> None:
    named = {target(page, link)[0] for page in PAGES for link in links(page)}
    there = {path.relative_to(ROOT).as_posix() for path in ROOT.glob(f"{PICTURES}*.*")}
    assert there <= named


def test_every_page_can_be_reached_from_the_front_page() -> None:
    reached, ahead = set(), {FRONT}
    while ahead:
        page = ahead.pop()
        reached.add(page)
        ahead |= {target(page, link)[0] for link in links(page)} & set(PAGES) - reached
    assert reached == set(PAGES)


def test_every_page_is_in_the_navigation_once() -> None:
    navigation = runpy.run_path(str(ROOT / "docs" / "conf.py"))["NAVIGATION"]
    listed = [page for pages in navigation.values() for page in pages]
    assert sorted([FRONT, *listed]) == sorted(PAGES)


def test_the_api_page_has_every_name_of_the_package() -> None:
    text = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    shown = re.findall(r"^\.\. auto\w+:: brokerwise\.(\w+)$", text, re.M)
    assert sorted(shown) == sorted(dir(brokerwise))
