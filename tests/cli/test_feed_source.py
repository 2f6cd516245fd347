"""Where records come from: files and pipes, plain and gzip."""

import asyncio
import gzip
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from brokerwise.cli.feed_source import PART_BYTES, FeedSource
from brokerwise.model.errors import InputError

LINES = b"".join(b'{"n": %d}\n' % number for number in range(100_000))


def read(source: FeedSource) -> list[bytes | None]:
    async def work() -> list[bytes | None]:
        return [part async for part in source.parts()]

    return asyncio.run(work())


def content(parts: list[bytes | None]) -> bytes:
    return b"".join(part for part in parts if part is not None)


@pytest.mark.parametrize(
    "packed",
    [
        LINES,
        gzip.compress(LINES),
        gzip.compress(LINES[:1000]) + gzip.compress(LINES[1000:]) + bytes(512),
        b"",
        b"{",
        gzip.compress(b""),
    ],
    ids=["plain", "gzip", "two members and padding", "empty", "a byte", "empty gzip"],
)
def test_a_file_is_read_whole_whether_packed_or_not(
    packed: bytes, tmp_path: Path
) -> None:
    file = tmp_path / "records"
    file.write_bytes(packed)
    source = FeedSource(str(file))
    expected = gzip.decompress(packed) if packed[:2] == b"\x1f\x8b" else packed
    assert content(read(source)) == expected
    assert source.done == source.size == len(packed)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (lambda packed: packed[:-20], "ends in the middle"),
        (lambda packed: packed[:50] + b"??" + packed[52:], "is broken gzip"),
        (lambda packed: packed + b"no gzip", "is broken gzip"),
    ],
)
def test_broken_gzip_is_named(
    spoil: Callable[[bytes], bytes], reason: str, tmp_path: Path
) -> None:
    file = tmp_path / "records.gz"
    file.write_bytes(spoil(gzip.compress(LINES)))
    with pytest.raises(InputError, match=f"records.gz {reason}"):
        read(FeedSource(str(file)))


def test_a_file_that_has_not_changed_has_the_same_identity(tmp_path: Path) -> None:
    file = tmp_path / "records"
    file.write_bytes(LINES)
    first = FeedSource(str(file)).identity
    assert FeedSource(str(file)).identity == first
    with file.open("ab") as grown:
        grown.write(b"{}\n")
    second = FeedSource(str(file)).identity
    copy = tmp_path / "copy"
    copy.write_bytes(file.read_bytes())
    assert len({first, second, FeedSource(str(copy)).identity}) == 3
    assert FeedSource("-").identity != FeedSource("-").identity


@pytest.mark.parametrize("name", ["nowhere", "."])
def test_what_cannot_be_read_is_refused_at_once(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="cannot read"):
        FeedSource(name)


@pytest.mark.parametrize("by_name", [False, True])
def test_a_pipe_says_when_it_pauses_and_is_read_to_its_end(
    by_name: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    paused = threading.Event()

    def write() -> None:
        with fifo.open("wb", buffering=0) as pipe:
            pipe.write(b'{"n": 1}\n')
            assert paused.wait(10)
            pipe.write(LINES)

    async def work() -> list[bytes | None]:
        found = []
        async for part in FeedSource(str(fifo) if by_name else "-").parts():
            found.append(part)
            if part is None:
                paused.set()
        return found

    writer = threading.Thread(target=write)
    writer.start()
    if by_name:
        parts = asyncio.run(work())
    else:
        with fifo.open() as standard_input:
            monkeypatch.setattr(sys, "stdin", standard_input)
            parts = asyncio.run(work())
    writer.join()
    assert parts[:2] == [b'{"n": 1}\n', None]
    assert content(parts) == b'{"n": 1}\n' + LINES
    assert max(len(part or b"") for part in parts) <= PART_BYTES
