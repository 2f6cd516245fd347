"""Guests who say what makes no sense: each has an answer, and everyone else goes on."""

import asyncio
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from websockets.frames import Frame, Opcode

from brokerwise.runtime.net.http import ask
from brokerwise.runtime.protocol.fleet import BrokerAnswer
from brokerwise.runtime.protocol.frames import CloseCode
from brokerwise.runtime.protocol.limits import MAX_FRAME_BYTES, MAX_NAME_BYTES, MAX_SEQ
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

from .besieged import BROKER, Besieged, besieged
from .load import until

pytestmark = pytest.mark.xdist_group("bad input")

MIB = 1 << 20
NO_UTF_8 = b'"\xff\xfe"'
DEEP = b"[" * 200_000


def test_a_wrong_token_opens_nothing(fleet: Besieged) -> None:
    async def scenario() -> None:
        for what, token in fleet.wrong_tokens("ann").items():
            async with fleet.guest() as guest:
                login = {"type": "login", "user": "ann", "token": token}
                guest.say(login, {"type": "subscribe", "topics": ["t0"]})
                code, _ = await guest.ended()
                assert (what, code) == (what, CloseCode.UNAUTHORIZED)
                assert guest.frames == []

    fleet.survives(scenario())


def test_a_good_token_is_for_its_own_name_source_and_version_only(
    fleet: Besieged,
) -> None:
    async def scenario() -> None:
        for wrong in (
            {"user": "bob"},
            {"source": "bob"},
            {"source": "annie"},
            {"version": 2},
            {"user": "operator", "token": fleet.file.operator_token},
        ):
            login = {"type": "login", "user": "ann", "token": fleet.token("ann")}
            async with fleet.guest() as guest:
                guest.say({**login, **wrong})
                code, reason = await guest.ended()
                assert (wrong, code) == (wrong, CloseCode.UNAUTHORIZED)
                assert reason

    fleet.survives(scenario())


def malformed_frames() -> list[bytes]:
    """Text that is no frame, or one with a field that is wrong."""
    publish = {"type": "publish", "topic": "m", "epoch": 1, "seq": 1}
    wrong: list[dict[str, Any]] = [
        {},
        {"type": "welcome"},
        {"type": "nonsense"},
        {"type": 1},
        {"type": None},
        {"type": "login"},
        {"type": "login", "user": "ann", "token": "x" * 1_025},
        {"type": "ack"},
        {"type": "subscribe", "topics": "m"},
        {"type": "subscribe", "topics": [1]},
        {"type": "subscribe", "topics": ["m"] * 10_001},
        {"type": "subscribe", "cursors": [["m", "ann", 1]]},
        {"type": "subscribe", "ranges": {"x": [1]}},
        {"type": "subscribe", "id": -1},
        {"type": "unsubscribe", "topics": {"m": 1}},
        {"type": "moved", "move": "1"},
        {"type": "decline", "move": 1, "reason": "r" * 1_025},
        *({**publish, "topic": t} for t in ("", "a\nb", "ä" * MAX_NAME_BYTES, None)),
        *({**publish, "seq": s} for s in (0, -1, MAX_SEQ + 1, 1.5, "1", True, None)),
        {k: v for k, v in publish.items() if k != "topic"},
    ]
    texts = (b"", b"{", b"[]", b"null", b"1", b'"login"', b"hello", b"{} {}", DEEP)
    begun = json.dumps(publish)[:-1].encode()
    inside = (b"nul", b"01", b'"\x01"', b'"\\ud800"', DEEP, b"1}")
    return [
        *texts,
        *(json.dumps(frame).encode() for frame in wrong),
        *(begun + b', "data": ' + data + b"}" for data in inside),
    ]


def test_a_malformed_frame_ends_its_connection_and_says_why(fleet: Besieged) -> None:
    async def scenario() -> None:
        for text in malformed_frames():
            async with fleet.guest() as stranger, fleet.visitor("ann") as ann:
                for one in (stranger, ann):
                    one.line.send(text)
                    one.publish("m", 1)  # too late
                    code, reason = await one.ended()
                    assert (text[:80], code) == (text[:80], CloseCode.MALFORMED)
                    assert reason
        sessions = json.loads(
            (await fleet.ask("GET", "/load", fleet.file.broker_token)).body
        )
        assert "m" not in sessions["topics"]

    fleet.survives(scenario())


def test_frames_that_have_no_place_there_are_malformed(fleet: Besieged) -> None:
    async def scenario() -> None:
        login = {"type": "login", "user": "ann", "token": fleet.token("ann")}
        forward = {"type": "forward", "source": "x", "topic": "m", "epoch": 1, "seq": 1}
        for frame in (login, forward, {"type": "ack", "count": 1}):
            async with fleet.visitor("ann") as ann:
                ann.say(frame)
                code, _ = await ann.ended()
                assert (frame["type"], code) == (frame["type"], CloseCode.MALFORMED)
        async with fleet.guest() as stranger:
            stranger.say({"type": "subscribe", "topics": ["m"]}, login)
            assert (await stranger.ended())[0] == CloseCode.MALFORMED
            assert stranger.frames == []

    fleet.survives(scenario())


def masked(opcode: Opcode, data: bytes, *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin=fin).serialize(mask=True)


def test_what_breaks_the_rules_of_websockets_has_their_codes(fleet: Besieged) -> None:
    half = masked(Opcode.TEXT, b"x" * MAX_FRAME_BYTES, fin=False)
    cases = {
        "binary": (masked(Opcode.BINARY, b"{}"), 1003),
        "not UTF-8": (masked(Opcode.TEXT, NO_UTF_8), 1007),
        "not masked": (Frame(Opcode.TEXT, b"{}").serialize(mask=False), 1002),
        "a ping that is too long": (b"\x89\xfe\x00\x80" + b"0" * 132, 1002),
        "a kind that there is not": (b"\x83\x80" + b"0" * 4, 1002),
        "reserved bits": (b"\xf1\x80" + b"0" * 4, 1002),
        "the end of nothing": (masked(Opcode.CONT, b"x"), 1002),
        "a close of one byte": (masked(Opcode.CLOSE, b"x"), 1002),
        "too long in parts": (half + masked(Opcode.CONT, b"x"), 1009),
        "2^62 bytes to come": (
            b"\x81\xff" + struct.pack("!Q", 1 << 62) + b"0000",
            1009,
        ),
        "2^63 bytes to come": (
            b"\x81\xff" + struct.pack("!Q", 1 << 63) + b"0000",
            1009,
        ),
    }

    async def scenario() -> None:
        async with fleet.within(32 * MIB):
            for what, (said, expected) in cases.items():
                async with fleet.guest() as stranger, fleet.visitor("ann") as ann:
                    for one in (stranger, ann):
                        one.line.write(said)
                        code, _ = await one.ended()
                        assert (what, code) == (what, expected)

    fleet.survives(scenario())


def test_the_longest_frame_passes_byte_for_byte_and_a_longer_one_does_not(
    fleet: Besieged,
) -> None:
    def frame_of(length: int) -> bytes:
        head = b'{"type":"publish","topic":"long","epoch":1,"seq":1,"data":"'
        return head + b"x" * (length - len(head) - 2) + b'"}'

    async def scenario() -> None:
        heard: list[bytes] = []
        async with fleet.visitor("reader") as reader, fleet.visitor("ann") as ann:
            reader.on_message = heard.append
            await reader.subscribe("long")
            ann.line.send(frame_of(MAX_FRAME_BYTES))
            await reader.got(1)
            sent = json.loads(frame_of(MAX_FRAME_BYTES))["data"]
            assert json.loads(heard[0])["data"] == sent
            ann.line.send(frame_of(MAX_FRAME_BYTES + 1))
            assert (await ann.ended())[0] == 1009
            assert reader.messages == 1

    fleet.survives(scenario())


def test_whoever_acknowledges_more_than_it_got_is_hung_up_on(fleet: Besieged) -> None:
    async def scenario() -> None:
        async with fleet.visitor("reader") as reader, fleet.visitor("ann") as ann:
            await reader.subscribe("acks")
            ann.publish("acks", 1)
            ann.publish("acks", 2)
            await reader.got(2)
            reader.say({"type": "ack", "count": 2}, {"type": "ack", "count": 1})
            reader.say({"type": "ack", "count": 3})
            code, reason = await reader.ended()
            assert code == CloseCode.MALFORMED
            assert "found count 3, expected at most 2" in reason

    fleet.survives(scenario())


def test_of_two_connections_of_a_user_the_one_that_subscribed_last_stays(
    fleet: Besieged,
) -> None:
    async def scenario() -> None:
        async with (
            fleet.visitor("ann") as first,
            fleet.visitor("ann") as second,
            fleet.visitor("ann", source="ann/pen") as publisher,
        ):
            await first.subscribe("twice")
            await second.subscribe("twice")
            assert (await first.ended())[0] == CloseCode.REPLACED
            publisher.publish("twice", 1)
            await second.got(1)
            assert first.messages == 0

    fleet.survives(scenario())


def test_a_subscription_that_is_half_withdrawn_at_once_is_answered(
    fleet: Besieged,
) -> None:
    async def scenario() -> None:
        async with fleet.visitor("reader") as reader, fleet.visitor("ann") as ann:
            reader.say(
                {"type": "subscribe", "id": 1, "topics": ["kept", "dropped"]},
                {"type": "unsubscribe", "id": 2, "topics": ["dropped"]},
                {"type": "subscribe", "id": 3, "topics": ["dropped too"]},
                {"type": "unsubscribe", "id": 4, "topics": ["dropped too", "never"]},
            )
            assert (await reader.told("subscribed", id=1))["topics"] == ["kept"]
            assert (await reader.told("subscribed", id=3))["topics"] == []
            problem = await reader.told("problem", code="not_subscribed")
            assert (problem["id"], problem["topics"]) == (4, ["never"])
            for topic in ("dropped", "dropped too", "kept"):
                ann.publish(topic, 1)
            await reader.got(1)
            await reader.log_out()
            assert reader.messages == 1

    fleet.survives(scenario())


def test_answers_to_moves_that_nobody_asked_for_are_a_problem(fleet: Besieged) -> None:
    async def scenario() -> None:
        async with fleet.visitor("ann") as ann:
            for kind in ("accept", "decline", "moved"):
                ann.frames.clear()
                ann.say({"type": kind, "move": 99})
                await ann.told("problem", code="unknown_move")
            await ann.log_out()

    fleet.survives(scenario())


async def user_of(fleet: Besieged, broker: str) -> str:
    """A new user whom the coordinator has placed there."""
    for number in range(10):
        user = f"placed {number}"
        await fleet.load.operator.register(user)
        url = f"{fleet.file.coordinator}/requestbroker"
        asked = {"user": user, "topics": ["home"]}
        answer = await ask(url, asked, BrokerAnswer, token=fleet.token(user))
        if answer.sessions[0].broker == broker:
            return user
    raise AssertionError(f"nobody was placed on {broker}")


def test_a_client_that_declines_to_move_stays(fleet: Besieged) -> None:
    async def scenario() -> None:
        operator, user = fleet.load.operator, await user_of(fleet, BROKER)
        async with fleet.visitor(user) as stayer, fleet.visitor("eve") as eve:
            await stayer.subscribe("home")
            number = await operator.move(user, BROKER, "b1")
            await stayer.told("request_to_move", move=number, broker="b1")
            eve.say({"type": "accept", "move": number})
            await eve.told("problem", code="unknown_move")
            stayer.say({"type": "decline", "move": number, "reason": "busy"})
            while not (status := await operator.move_status(number)).is_over:
                await asyncio.sleep(0.02)
            assert (status.state, status.reason) == ("declined", "busy")
            stayer.say({"type": "accept", "move": number})
            await stayer.told("problem", code="unknown_move")
            eve.publish("home", 1)
            await stayer.got(1)

    fleet.survives(scenario())


def planned() -> Seed:
    """A plan that knows the topics t0 to t3, and who wants which."""
    sessions = tuple(
        SeedSession(
            f"u{n}", f"b{n % 2}", tuple(sorted({f"t{n % 4}", f"t{(n + 1) % 4}"}))
        )
        for n in range(6)
    )
    return Seed(
        brokers=(SeedBroker("b0"), SeedBroker("b1")),
        placement="plan",
        kind="provision",
        sessions=sessions,
        rates={f"t{n}": 1_000 for n in range(4)},
        period_seconds=60,
    )


def test_a_topic_that_there_is_not_is_a_problem_and_the_rest_is_done(
    tmp_path: Path,
) -> None:
    async def scenario(fleet: Besieged) -> None:
        async with fleet.visitor("ann") as ann:
            answer = await ann.subscribe("t0", "nowhere", "t1", "tx")
            assert answer["topics"] == ["t0", "t1"]
            problem = await ann.told("problem")
            assert problem["code"] == "unknown_topic" and problem["id"] == 1
            assert sorted(problem["topics"]) == ["nowhere", "tx"]
            assert ann.frames.index(problem) < ann.frames.index(answer)
            ann.frames.clear()
            for seq in range(1, 2_001):
                ann.publish("nowhere", seq)
            await until(lambda: len(problems(ann.frames)) == 2_000, 10)
            assert problems(ann.frames)[0]["topics"] == ["nowhere"]
            await ann.told("published", count=2_000)
            await ann.got(10)
            await ann.log_out()
        body = b'{"topic": "nowhere", "epoch": 1, "seq": 1}'
        answer_page = await fleet.ask("POST", "/publish", fleet.token("ann"), body)
        assert answer_page.status == 404

    def problems(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [frame for frame in frames if frame["type"] == "problem"]

    with besieged(tmp_path, planned()) as fleet:
        fleet.survives(scenario(fleet))
