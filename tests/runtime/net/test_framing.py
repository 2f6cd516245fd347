"""Frames that we write, read by the library."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode
from websockets.protocol import Protocol, Side

from brokerwise.runtime.net.framing import (
    MAX_REASON_BYTES,
    Masker,
    closing,
    frame_text,
    mask_text,
)

LENGTHS = st.one_of(
    st.integers(0, 300), st.sampled_from([125, 126, 127, 65_535, 65_536, 70_000])
)
TEXTS = LENGTHS.map(lambda n: bytes(65 + i % 26 for i in range(n)))


def read_by_library(frame: bytes, side: Side) -> list[object]:
    protocol = Protocol(side, max_size=None)
    protocol.receive_data(frame)
    return list(protocol.events_received())


@given(TEXTS)
def test_a_server_frame_is_what_the_library_would_send(text: bytes) -> None:
    assert frame_text(text) == Frame(Opcode.TEXT, text).serialize(mask=False)
    assert read_by_library(frame_text(text), Side.CLIENT) == [Frame(Opcode.TEXT, text)]


@given(TEXTS, st.binary(min_size=4, max_size=4))
def test_a_masked_frame_is_read_back_by_a_server(text: bytes, key: bytes) -> None:
    frame = mask_text(text, key)
    assert key in frame[:14]
    assert read_by_library(frame, Side.SERVER) == [Frame(Opcode.TEXT, text)]


def test_every_frame_is_masked_with_another_key() -> None:
    masker = Masker()
    frames = [masker.frame_text(b"same") for _ in range(3_000)]
    assert len(set(frames)) > 2_990  # of 2^32 keys; two alike are not an error
    for frame in frames:
        assert read_by_library(frame, Side.SERVER) == [Frame(Opcode.TEXT, b"same")]


@given(st.text())
def test_a_close_reason_is_cut_to_what_fits_between_two_characters(reason: str) -> None:
    close = closing(4400, reason)
    kept = close.reason.encode()
    assert len(kept) <= MAX_REASON_BYTES
    assert reason.startswith(close.reason)
    assert len(kept) > MAX_REASON_BYTES - 4 or close.reason == reason


@pytest.mark.parametrize("code", [0, 999, 1005, 1006, 1015, 2999, 5000])
def test_a_code_that_must_not_be_sent_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match=f"{code} is no close code"):
        closing(code, "")
