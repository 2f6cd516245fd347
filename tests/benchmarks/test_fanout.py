"""The raw client of the fan-out benchmark, and the benchmark as a whole."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from benchmarks.raw_client.crowd import Crowd, WrongDeliveryError
from benchmarks.raw_client.mqtt import Mqtt
from benchmarks.raw_client.servers import mosquitto_program
from benchmarks.raw_client.speech import PAYLOAD_BYTES
from benchmarks.raw_client.websocket import Brokerwise
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Opcode
from websockets.server import ServerProtocol

from benchmarks import fanout
from brokerwise.runtime.net.connection import frame_text
from brokerwise.runtime.protocol.frames import (
    Ack,
    Beat,
    Message,
    Publish,
    decode_from_client,
    encode,
)
from brokerwise.runtime.protocol.tokens import Keys

INDEXES = st.integers(0, 8_000_000)


def own() -> Brokerwise:
    return Brokerwise(Keys.of_secret(b"secret"))


def heard_by_a_server(framed: bytes) -> list[bytes]:
    """The texts in what a client sends, as a WebSocket server reads them."""
    server = ServerProtocol()
    server.receive_data(
        b"GET / HTTP/1.1\r\nHost: a\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n"
        b"Sec-WebSocket-Version: 13\r\n\r\n"
    )
    (request,) = server.events_received()
    server.send_response(server.accept(request))  # type: ignore[arg-type]
    server.receive_data(framed)
    frames = server.events_received()
    assert all(frame.opcode is Opcode.TEXT for frame in frames)  # type: ignore[union-attr]
    return [bytes(frame.data) for frame in frames]  # type: ignore[union-attr]


@given(INDEXES)
def test_our_publications_are_frames_with_200_bytes_of_data(index: int) -> None:
    speech = own()
    (text,) = heard_by_a_server(speech.publication(index))
    frame = decode_from_client(text)
    assert isinstance(frame, Publish)
    assert len(bytes(frame.data)) == PAYLOAD_BYTES
    assert json.loads(bytes(frame.data)).startswith(f"{index:010d}x")
    received = delivered(speech, index)
    assert len(received) == speech.message_bytes
    assert speech.index_of(received) == index


def delivered(speech: Brokerwise, index: int) -> bytes:
    """What a broker makes of a publication."""
    (text,) = heard_by_a_server(speech.publication(index))
    frame = decode_from_client(text)
    assert isinstance(frame, Publish)
    message = Message(
        *(frame.topic, "publisher", frame.epoch, frame.seq),
        data=frame.data,
        at=frame.at,
    )
    return frame_text(encode(message))


@given(st.lists(st.booleans(), max_size=8), st.data())
def test_messages_are_counted_between_beats_however_they_are_cut(
    beats: list[bool], data: st.DataObject
) -> None:
    speech = own()
    beat, message = frame_text(encode(Beat())), delivered(speech, 7)
    stream = b"".join(beat if is_beat else message for is_beat in beats)
    cut = data.draw(st.integers(0, len(stream)))
    first, end = speech.complete(stream[:cut])
    second, last = speech.complete(stream[end:])
    assert first + second == beats.count(False)
    assert end + last == len(stream)


def test_it_is_said_why_a_broker_hung_up() -> None:
    closing = b"\x88\x0c" + (4504).to_bytes(2) + b"was cut off"[:10]
    with pytest.raises(ConnectionError, match="hung up: 4504 was cut of"):
        own().complete(closing)


def test_our_acknowledgements_name_the_last_message() -> None:
    speech = own()
    (text,) = heard_by_a_server(speech.acknowledgement(memoryview(b""), 0, 64))
    (publication,) = heard_by_a_server(speech.publication(63))
    frame, last = decode_from_client(text), decode_from_client(publication)
    assert isinstance(frame, Ack)
    assert isinstance(last, Publish)
    assert frame.count == 64
    assert frame.cursors == (("fanout", "publisher", last.epoch, last.seq),)


def test_a_publisher_uses_the_route_that_it_is_told() -> None:
    speech = own()
    told = frame_text(b'{"type":"stale_route","topic":"fanout","generation":7}')
    speech.publisher_hears(told[:9])
    speech.publisher_hears(told[9:] + frame_text(b'{"type":"published","count":1}'))
    (text,) = heard_by_a_server(speech.publication(0))
    frame = decode_from_client(text)
    assert isinstance(frame, Publish)
    assert frame.generation == 7


@given(st.lists(st.integers(0, 200_000), min_size=1, max_size=5))
def test_each_message_of_quality_1_is_acknowledged(indexes: list[int]) -> None:
    speech = Mqtt(1)
    stream = b"".join(map(speech.publication, indexes))
    assert speech.complete(stream) == (len(indexes), len(stream))
    found = speech.acknowledgement(memoryview(stream), len(indexes), 0)
    identifiers = [i % 65535 + 1 for i in indexes]
    assert found == b"".join(b"\x40\x02" + i.to_bytes(2) for i in identifiers)


@pytest.mark.parametrize("quality", [0, 1])
@pytest.mark.parametrize(
    ("loser", "found"), [(0, "10 messages were published"), (1, "6 came after 4")]
)
def test_a_lost_message_is_found(quality: int, loser: int, found: str) -> None:
    """Of two subscribers the second is the witness."""
    with broker_that_loses(quality, 5, loser) as address:
        crowd = Crowd(Mqtt(quality), address, 2)
        try:
            crowd.publish(5)
            crowd.wait_for_all(10)
            crowd.publish(5)
            with pytest.raises(WrongDeliveryError, match=found):
                crowd.wait_for_all(0.3)
        finally:
            crowd.close()


@contextmanager
def broker_that_loses(
    quality: int, message: int, loser: int
) -> Iterator[tuple[str, int]]:
    """A broker for one publisher, who comes first, and two subscribers, one of whom
    does not get one of the messages."""
    size = Mqtt(quality).message_bytes

    def serve() -> None:
        with listener.accept()[0] as publisher:
            greet([publisher], [4])
            with listener.accept()[0] as first, listener.accept()[0] as second:
                greet([first, second], [4, 5])
                with suppress(ConnectionError):  # whoever has found it hangs up
                    for index in range(10):
                        data = publisher.recv(size, socket.MSG_WAITALL)
                        for number, its in enumerate((first, second)):
                            if index != message or number != loser:
                                its.sendall(data)
                    publisher.recv(1)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve)
        thread.start()
        yield listener.getsockname()
        thread.join()


def greet(sockets: list[socket.socket], answers: list[int]) -> None:
    for length in answers:
        for its in sockets:
            its.recv(1000)
            its.sendall(bytes(length))


needs_mosquitto = pytest.mark.skipif(
    mosquitto_program() is None, reason="mosquitto is not installed"
)


@pytest.mark.long
@needs_mosquitto
def test_rates_and_latencies_are_compared(capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--subscribers", "10", "--repeats", "1", "--seconds", "0.1"]
    fanout.main([*few, "--parts", "deliveries"])
    rates = json.loads(capsys.readouterr().out)
    assert rates["subscribers"] == 10
    assert rates["deliveries_per_second"] > 1000
    assert rates["ratio_to_mosquitto_qos0"] > 0
    assert rates["ratio_to_mosquitto_qos1"] > 0
    assert rates["p99_ms_at_half_rate"] > 0
    assert rates["p99_ms_at_half_mosquitto_rate"] > 0
    assert len(rates["per_second"]) == 5


def test_without_mosquitto_our_own_memory_is_measured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fanout, "mosquitto_program", lambda: None)
    fanout.main(["--sessions", "50", "--repeats", "1", "--parts", "idle"])
    printed = capsys.readouterr()
    assert "mosquitto is not installed" in printed.err
    idle = json.loads(printed.out)
    assert idle["sessions"] == 50
    assert idle["bytes_per_session"] < 1_000_000
    assert idle["mosquitto_bytes_per_session"] is None
