"""Who may see a plan, and what is served to everybody."""

import json
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.show.plans import KEYS, TOKEN, served

from brokerwise.page.assets import ASSETS, HEADERS
from brokerwise.runtime.protocol.tokens import Role
from brokerwise.show.view import View

VIEW = View(
    {"kind": "fill"},
    lambda text: {"topics": [], "subscribers": [], "more": False, "asked": text},
    lambda number: {"number": number} if number < 2 else None,
)
DATA = ("/plan", "/plan/find?text=a", "/plan/broker/0")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(VIEW) as address:
        yield address


def get(url: str, path: str, token: str = "", **headers: str) -> HTTPResponse:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.content = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def content(answer: HTTPResponse) -> Any:
    return json.loads(answer.content)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/", *(f"/page/{name}" for name in sorted(ASSETS))])
def test_static_files_are_for_everybody(url: str, path: str) -> None:
    answer = get(url, path)
    assert answer.status == 200
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    again = get(url, path, **{"If-None-Match": str(answer.headers["ETag"])})
    assert again.status == 304


def test_the_page_is_that_of_a_plan(url: str) -> None:
    assert b"page/plan.js" in get(url, "/").content  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [*DATA, "/page/nothing.js", "/other"])
def test_nothing_else_is_without_a_token(url: str, path: str) -> None:
    for token in ("", "x", TOKEN[:-1], "operator.dmlldw.00"):
        answer = get(url, path, token)
        assert (answer.status, set(content(answer))) == (401, {"error"})


@pytest.mark.parametrize("path", DATA)
def test_a_token_of_another_role_is_not_enough(url: str, path: str) -> None:
    assert get(url, path, KEYS.token(Role.USER, "ann")).status == 403


def test_whoever_has_the_token_sees_the_plan(url: str) -> None:
    assert content(get(url, "/plan", TOKEN)) == {"kind": "fill"}
    assert content(get(url, "/plan/broker/1", TOKEN)) == {"number": 1}
    missing = get(url, "/plan/broker/2", TOKEN)
    assert (missing.status, content(missing)) == (
        404,
        {"error": "there is no such broker"},
    )
    assert get(url, "/page/nothing.js", TOKEN).status == 404
    assert get(url, "/plan/broker/x", TOKEN).status == 404


@pytest.mark.parametrize(
    ("text", "asked"), [("", ""), (" a b ", "a b"), ("東/&", "東/&"), ("x" * 1025, "")]
)
def test_a_search_is_for_a_text_as_long_as_a_name(
    url: str, text: str, asked: str
) -> None:
    found = content(get(url, f"/plan/find?text={quote(text)}", TOKEN))
    assert found["asked"] == asked
