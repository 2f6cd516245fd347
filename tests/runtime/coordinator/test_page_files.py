"""The files of the page, over HTTP."""

import asyncio
import json
from pathlib import Path

import pytest
from tests.runtime.coordinator.fakes import OPERATOR, Running, plain_seed, run, running

from brokerwise.page.assets import ASSETS, HEADERS, asset
from brokerwise.runtime.net.http import request


async def get(fleet: Running, path: str, **headers: str) -> tuple[int, dict[str, str]]:
    port = int(fleet.url.rpartition(":")[2])
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET {path} HTTP/1.1\r\nHost: h\r\n{lines}\r\n".encode())
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        rest = await reader.read()
    finally:
        writer.transport.abort()
    found = dict(line.lower().split(": ", 1) for line in head[1:] if line)
    return int(head[0].split()[1]), {**found, "body": rest.decode()}


def test_the_files_of_the_page_are_for_everybody(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            for path, name in (
                *((f"/page/{name}", name) for name in ASSETS),
                ("/", "index.html"),
            ):
                status, answer = await get(fleet, path)
                assert status == 200
                assert answer["body"].encode() == asset(name).content
                assert answer["content-type"] == asset(name).media_type
                for header, value in HEADERS.items():
                    assert answer[header.lower()] == value.lower()
            for path in ("/page", "/page/", "/page/assets.py", "/page/../fleet.json"):
                assert (await get(fleet, path))[0] == 401
            missing = await request(
                "GET", f"{fleet.url}/page/nothing.js", token=OPERATOR
            )
            assert missing.status == 404
            assert json.loads(missing.body) == {"error": "Not Found"}

    run(work())


@pytest.mark.parametrize(
    ("known", "status"),
    [("{}", 304), ('"x", W/{}', 304), ('"another"', 200), ("", 200)],
)
def test_a_file_that_a_browser_has_is_not_sent_again(
    tmp_path: Path, known: str, status: int
) -> None:
    async def work() -> None:
        async with running(tmp_path, plain_seed(1), chores=False) as fleet:
            tag = asset("index.html").etag
            header = {"If-None-Match": known.replace("{}", tag)}
            found, answer = await get(fleet, "/", **header)
            assert (found, answer["etag"]) == (status, tag)
            assert bool(answer["body"]) is (status == 200)

    run(work())
