"""The files of the page: which there are, and how they are to be served."""

import re
from importlib.resources import files
from pathlib import PurePath

import pytest

from brokerwise.page.assets import ASSETS, HEADERS, asset


def test_there_is_the_live_page_and_nothing_that_is_no_asset() -> None:
    assert "index.html" in ASSETS
    assert {PurePath(name).suffix for name in ASSETS} <= {".html", ".css", ".js"}


@pytest.mark.parametrize(
    ("suffix", "kind"),
    [(".html", "text/html"), (".css", "text/css"), (".js", "text/javascript")],
)
def test_every_file_is_served_as_what_it_is(suffix: str, kind: str) -> None:
    named = [name for name in ASSETS if name.endswith(suffix)]
    assert named
    for name in named:
        found = asset(name)
        assert found.content == files("brokerwise.page").joinpath(name).read_bytes()
        assert found.media_type == f"{kind}; charset=utf-8"
        found.content.decode()


def test_tags_are_quoted_and_tell_contents_apart() -> None:
    tags = {asset(name).content: asset(name).etag for name in ASSETS}
    assert all(re.fullmatch('"[0-9a-f]{32}"', tag) for tag in tags.values())
    assert len(set(tags.values())) == len(tags)


@pytest.mark.parametrize(
    "name", ["", "nothing.js", "assets.py", "../model/plan.py", "/etc/passwd"]
)
def test_what_is_no_asset_is_not_found(name: str) -> None:
    with pytest.raises(KeyError):
        asset(name)


def test_a_page_may_load_only_what_comes_with_it() -> None:
    policy = dict(
        part.split(" ", 1) for part in HEADERS["Content-Security-Policy"].split("; ")
    )
    assert policy == {
        "default-src": "'none'",
        "script-src": "'self'",
        "style-src": "'self'",
        "img-src": "'self' data:",
        "connect-src": "'self' ws: wss:",
        "base-uri": "'none'",
        "form-action": "'none'",
        "frame-ancestors": "'none'",
    }
    others = {name: value for name, value in HEADERS.items() if "Policy" not in name}
    assert others == {
        "X-Content-Type-Options": "nosniff",
        "Cache-Control": "no-cache",
    }
    assert HEADERS["Referrer-Policy"] == "no-referrer"
