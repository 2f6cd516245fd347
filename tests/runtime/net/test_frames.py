"""Frames that we write, read by the library."""

from dataclasses import dataclass, field
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from websockets.frames import Close, CloseCode, Frame, Opcode
from websockets.protocol import Protocol, Side

from brokerwise.runtime.net.connection import (
    MAX_REASON_BYTES,
    End,
    FrameReader,
    Masker,
    frame_text,
    make_close,
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
    close = make_close(4400, reason)
    kept = close.reason.encode()
    assert len(kept) <= MAX_REASON_BYTES
    assert reason.startswith(close.reason)
    assert len(kept) > MAX_REASON_BYTES - 4 or close.reason == reason


@pytest.mark.parametrize("code", [0, 999, 1005, 1006, 1015, 2999, 5000])
def test_a_code_that_must_not_be_sent_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match=f"{code} is no close code"):
        make_close(code, "")


LIMIT = 400


@dataclass
class Outcome:
    texts: list[bytes] = field(default_factory=list)
    replies: bytes = b""
    code: int | None = None


def by_library(stream: bytes, side: Side, limit: int = LIMIT) -> Outcome:
    protocol = Protocol(side, max_size=limit)
    outcome, parts = Outcome(), b""
    for i in range(len(stream)):
        protocol.receive_data(stream[i : i + 1])
        for frame in protocol.events_received():
            assert isinstance(frame, Frame)
            if frame.opcode is Opcode.BINARY:
                protocol.fail(CloseCode.UNSUPPORTED_DATA)
                outcome.code = CloseCode.UNSUPPORTED_DATA
            elif frame.opcode in (Opcode.TEXT, Opcode.CONT):
                parts += frame.data
                if frame.fin:
                    try:
                        parts.decode()
                        outcome.texts.append(parts)
                    except UnicodeDecodeError:
                        protocol.fail(CloseCode.INVALID_DATA)
                        outcome.code = CloseCode.INVALID_DATA
                    parts = b""
        if outcome.code is None and protocol.parser_exc is not None:
            assert protocol.close_sent is not None
            outcome.code = protocol.close_sent.code
        elif outcome.code is None and protocol.close_rcvd is not None:
            outcome.code = protocol.close_rcvd.code
        outcome.replies += b"".join(protocol.data_to_send())
        if outcome.code is not None:
            break
    return outcome


def by_us(pieces: list[bytes], side: Side, limit: int = LIMIT) -> Outcome:
    incoming = FrameReader(masked=side is Side.SERVER, max_bytes=limit)
    outcome = Outcome()
    for piece in pieces:
        incoming.feed(piece)
        outcome.texts += incoming.texts()
        outcome.replies += b"".join(incoming.replies)
        incoming.replies.clear()
    outcome.code = incoming.ended.code if incoming.ended else None
    return outcome


def unmasked(frames: bytes, side: Side) -> list[tuple[Opcode, bytes]]:
    """Replies as the other end reads them: a client masks them by chance. Of a close
    only the code: our reason and the library's are different words."""
    other = Protocol(Side.CLIENT if side is Side.SERVER else Side.SERVER)
    other.receive_data(frames)
    read = [f for f in other.events_received() if isinstance(f, Frame)]
    return [(f.opcode, bytes(f.data[:2] if f.opcode == 8 else f.data)) for f in read]


def pieces_of(stream: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    return [stream[a:b] for a, b in pairwise(edges)]


def assert_alike(stream: bytes, cuts: list[int], side: Side) -> None:
    expected = by_library(stream, side)
    found = by_us(pieces_of(stream, cuts), side)
    assert found.texts == expected.texts
    assert found.code == expected.code
    assert unmasked(found.replies, side) == unmasked(expected.replies, side)


OPCODES = st.sampled_from(list(Opcode))
PAYLOADS = st.one_of(
    st.binary(max_size=20),
    st.text(max_size=20).map(str.encode),
    st.sampled_from([b"", b"a" * 125, b"b" * 126, b"c" * 400, b"d" * 401]),
    st.sampled_from([b"\x03\xe8bye", b"\x11\x30", b"\x03", "é".encode()[:1]]),
)


@st.composite
def valid_messages(draw: st.DrawFn) -> list[Frame]:
    """Text in one or several frames, with pings in between."""
    frames = []
    for text in draw(st.lists(st.text(max_size=140).map(str.encode), max_size=6)):
        edges = draw(st.lists(st.integers(0, len(text)), max_size=3).map(sorted))
        parts = [text[a:b] for a, b in zip([0, *edges], [*edges, None], strict=True)]
        for i, part in enumerate(parts):
            opcode = Opcode.CONT if i else Opcode.TEXT
            frames.append(Frame(opcode, part, fin=i == len(parts) - 1))
            if draw(st.booleans()):
                frames.append(Frame(Opcode.PING, draw(st.binary(max_size=5))))
    return frames


@st.composite
def any_frames(draw: st.DrawFn) -> list[Frame]:
    """Also what no rule allows: wrong order, wrong bits, wrong length."""
    bits = st.booleans() if draw(st.integers(0, 9)) == 0 else st.just(False)
    build = st.builds(
        Frame,
        OPCODES,
        PAYLOADS,
        fin=st.integers(0, 3).map(bool),
        rsv1=bits,
        rsv2=bits,
    )
    return draw(st.lists(build, max_size=6))


def serialized(frames: list[Frame], side: Side, *, mask_wrong: int = -1) -> bytes:
    """As the other end of `side` would send them, unchecked; one with its mask bit
    wrong, if asked for."""
    stream = b""
    for i, frame in enumerate(frames):
        masked = (side is Side.SERVER) != (i == mask_wrong)
        first = frame.fin << 7 | frame.rsv1 << 6 | frame.rsv2 << 5 | frame.opcode
        size, bit = len(frame.data), masked << 7
        if size < 126:
            head = bytes([first, bit | size])
        else:
            head = bytes([first, bit | 126]) + size.to_bytes(2)
        key = bytes([i % 256, 3, 200, 17]) if masked else b""
        data = bytes(frame.data)
        if masked:
            data = bytes(byte ^ key[j % 4] for j, byte in enumerate(data))
        stream += head + key + data
    return stream


CUTS = st.lists(st.integers(0, 5_000), max_size=12)
SIDES = st.sampled_from(list(Side))


@given(valid_messages(), CUTS, SIDES)
def test_messages_come_whole_however_the_stream_is_cut(
    frames: list[Frame], cuts: list[int], side: Side
) -> None:
    texts, joined = [], b""
    for frame in frames:
        if frame.opcode is not Opcode.PING:
            joined += frame.data
            if frame.fin:
                texts.append(joined)
                joined = b""
    stream = serialized(frames, side)
    found = by_us(pieces_of(stream, cuts), side, limit=1_000)
    assert found.texts == texts
    assert found.code is None
    pings = [(Opcode.PONG, f.data) for f in frames if f.opcode is Opcode.PING]
    assert unmasked(found.replies, side) == pings
    assert_alike(stream, cuts, side)


@given(any_frames(), CUTS, SIDES, st.integers(-1, 5))
def test_frames_in_any_order_are_judged_as_the_library_judges_them(
    frames: list[Frame], cuts: list[int], side: Side, mask_wrong: int
) -> None:
    assert_alike(serialized(frames, side, mask_wrong=mask_wrong), cuts, side)


@given(st.binary(max_size=60), CUTS, SIDES)
@example(b"\x81\xfe\x00", [], Side.SERVER)
@example(b"\x81\xff" + (1 << 63).to_bytes(8), [3], Side.SERVER)
@example(b"\x00~", [], Side.SERVER)
@example(b"\x83~", [], Side.CLIENT)
@example(b"\x81\x81" + bytes(5), [], Side.CLIENT)
@example(b"\x81\x7e\x00\x01a\x81\x00", [1, 2, 3, 4], Side.CLIENT)
def test_arbitrary_bytes_are_judged_as_the_library_judges_them(
    stream: bytes, cuts: list[int], side: Side
) -> None:
    assert_alike(stream, cuts, side)


@given(any_frames(), st.integers(0, 200), st.integers(0, 7), CUTS, SIDES)
def test_a_flipped_bit_is_judged_as_the_library_judges_it(
    frames: list[Frame], at: int, bit: int, cuts: list[int], side: Side
) -> None:
    stream = bytearray(serialized(frames, side))
    if stream:
        stream[at % len(stream)] ^= 1 << bit
    assert_alike(bytes(stream), cuts, side)


@given(valid_messages(), CUTS)
def test_stopping_after_each_message_changes_nothing(
    frames: list[Frame], cuts: list[int]
) -> None:
    stream = serialized(frames, Side.SERVER)
    incoming = FrameReader(masked=True, max_bytes=LIMIT)
    texts = []
    for piece in pieces_of(stream, cuts):
        incoming.feed(piece)
        while (text := next(incoming.texts(), None)) is not None:
            texts.append(text)
    assert texts == by_library(stream, Side.SERVER).texts


WRONG = [
    (b"\x82\x80" + bytes(4), CloseCode.UNSUPPORTED_DATA),
    (b"\x02\x80" + bytes(4), CloseCode.UNSUPPORTED_DATA),
    (b"\x81\x81" + bytes(4) + b"\xff", CloseCode.INVALID_DATA),
    (b"\x01\x81" + bytes(4) + b"\xc3\x80\x80" + bytes(4), CloseCode.INVALID_DATA),
    (b"\x81\xfe\x01\x91", CloseCode.MESSAGE_TOO_BIG),
    (b"\x81\xff" + (1 << 40).to_bytes(8), CloseCode.MESSAGE_TOO_BIG),
    (b"\x81\x05hello", CloseCode.PROTOCOL_ERROR),
    (b"\xc1\x80" + bytes(4), CloseCode.PROTOCOL_ERROR),
    (b"\x83\x80" + bytes(4), CloseCode.PROTOCOL_ERROR),
    (b"\x80\x80" + bytes(4), CloseCode.PROTOCOL_ERROR),
    (b"\x09\x80" + bytes(4), CloseCode.PROTOCOL_ERROR),
    (b"\x88\x81" + bytes(4) + b"\x00", CloseCode.PROTOCOL_ERROR),
]


@pytest.mark.parametrize(("stream", "code"), WRONG)
def test_what_breaks_a_rule_ends_it_with_the_code_for_that(
    stream: bytes, code: CloseCode
) -> None:
    good = serialized([Frame(Opcode.TEXT, b"before")], Side.SERVER)
    incoming = FrameReader(masked=True, max_bytes=LIMIT)
    incoming.feed(good + stream + good)
    assert list(incoming.texts()) == [b"before"]
    assert incoming.ended is not None
    assert (incoming.ended.code, incoming.ended.failed) == (code, True)
    [(opcode, data)] = unmasked(b"".join(incoming.replies), Side.SERVER)
    assert (opcode, data) == (Opcode.CLOSE, code.to_bytes(2))
    incoming.feed(good)
    assert list(incoming.texts()) == []


def test_fragments_are_bounded_as_one_message() -> None:
    part = serialized([Frame(Opcode.TEXT, b"x" * 300, fin=False)], Side.SERVER)
    more = serialized([Frame(Opcode.CONT, b"x" * 101, fin=False)], Side.SERVER)
    assert by_us([part, more], Side.SERVER).code == CloseCode.MESSAGE_TOO_BIG


def test_after_our_close_messages_come_until_the_other_end_closes() -> None:
    incoming = FrameReader(masked=True, max_bytes=LIMIT)
    sent = incoming.close(4503, "leaving")
    assert unmasked(sent, Side.SERVER) == [(Opcode.CLOSE, (4503).to_bytes(2))]
    frames = [
        Frame(Opcode.TEXT, b"one"),
        Frame(Opcode.TEXT, b"tw", fin=False),
        Frame(Opcode.CONT, b"o"),
        Frame(Opcode.CLOSE, Close(4503, "leaving").serialize()),
        Frame(Opcode.TEXT, b"three"),
    ]
    incoming.feed(serialized(frames, Side.SERVER))
    assert list(incoming.texts()) == [b"one", b"two"]
    assert incoming.ended == End(4503, "leaving", failed=False)
    assert incoming.replies == []


def test_a_close_in_the_middle_of_a_fragmented_message_still_lets_it_end() -> None:
    incoming = FrameReader(masked=True, max_bytes=LIMIT)
    frames = [Frame(Opcode.TEXT, b"tw", fin=False), Frame(Opcode.CONT, b"o")]
    incoming.feed(serialized(frames[:1], Side.SERVER))
    assert list(incoming.texts()) == []
    assert incoming.close(1000, "")
    incoming.feed(serialized(frames[1:], Side.SERVER))
    assert list(incoming.texts()) == [b"two"]


def test_a_message_of_the_largest_size_comes_through() -> None:
    text = b"x" * (1 << 20)
    key = bytes(4)
    stream = b"\x81\xff" + len(text).to_bytes(8) + key + text
    pieces = [stream[i : i + 50_000] for i in range(0, len(stream), 50_000)]
    found = by_us([*pieces, b"\x81\x81" + key + b"y"], Side.SERVER, limit=len(text))
    assert found.texts == [text, b"y"]
    assert by_us([stream], Side.SERVER, limit=len(text) - 1).code == 1009
