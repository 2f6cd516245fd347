"""A real broker that is told all sorts of things, for a bounded time: what it answers
is what the protocol says, and it never fails."""

import json
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.tiers import examples

from brokerwise.runtime.protocol.frames import CloseCode

from .besieged import Besieged
from .mutations import ANYTHING, GOODBYE, Said, anything_said, verdict

pytestmark = pytest.mark.xdist_group("bad input")

DEFINED = {GOODBYE, 1007, CloseCode.MALFORMED, CloseCode.UNAUTHORIZED}
SECONDS = 10.0  # on a slow machine, then what is beyond LEAST is left out
LEAST = 100
EXAMPLES = examples(300)
# Whatever one example leaves behind in the broker is there for the next, on purpose.
SHARED = settings(
    max_examples=EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)


class Hours:
    """What is left of some seconds."""

    def __init__(self, seconds: float) -> None:
        self._until = time.monotonic() + seconds

    @property
    def are_over(self) -> bool:
        return time.monotonic() > self._until


def test_whatever_is_said_is_answered_as_the_protocol_says(fleet: Besieged) -> None:
    hours = Hours(SECONDS)
    tried = 0

    @SHARED
    @given(said=st.lists(anything_said(), max_size=6), logged_in=st.booleans())
    def try_it(said: list[Said], logged_in: bool) -> None:
        nonlocal tried
        if tried <= LEAST or not hours.are_over:
            tried += 1
            fleet.run(converse(said, logged_in))

    async def converse(said: list[Said], logged_in: bool) -> None:
        async with fleet.guest() as one:
            if logged_in:
                await one.log_in("fuzz", fleet.token("fuzz"))
            for text in said:
                one.line.send(text.text)
            one.say({"type": "logout"})
            code, _ = await one.ended()
            expected = verdict(said, logged_in=logged_in)
            if expected is None:
                expected = GOODBYE if logged_in else CloseCode.MALFORMED
            fits = code in DEFINED if expected == ANYTHING else code == expected
            assert fits, (code, expected, said)

    try_it()
    assert tried > LEAST
    fleet.survives(one_message_arrives(fleet))


METHODS = st.sampled_from(["GET", "POST", "PUT", "HEAD", "DELETE", "OPTIONS"])
PAGES = ["/health", "/load", "/sessions", "/metrics", "/publish", "/control/routes"]
PATHS = st.sampled_from([*PAGES, "/control/move", "/session", "/"]) | st.text(
    st.characters(min_codepoint=0x21, max_codepoint=0x7E, exclude_characters="#")
).map(lambda text: f"/{text}")
BODIES = (
    st.none()
    | st.binary(max_size=200)
    | anything_said().map(lambda said: said.text)
    | st.recursive(
        st.none() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(st.sampled_from(["routes", "topic", "move", "to"]), inner)
        ),
        max_leaves=5,
    ).map(lambda value: json.dumps(value).encode())
)


def test_no_page_fails_whatever_it_is_sent(fleet: Besieged) -> None:
    hours = Hours(SECONDS)
    tokens = [fleet.token("fuzz"), fleet.file.broker_token, "", "nonsense"]
    tried = 0

    @SHARED
    @given(method=METHODS, path=PATHS, token=st.sampled_from(tokens), body=BODIES)
    def try_it(method: str, path: str, token: str, body: bytes | None) -> None:
        nonlocal tried
        if tried <= LEAST or not hours.are_over:
            tried += 1
            answer = fleet.run(fleet.ask(method, path, token, body))
            assert answer.status in (200, 400, 401, 403, 404, 405, 422)

    try_it()
    assert tried > LEAST
    fleet.survives(one_message_arrives(fleet))


async def one_message_arrives(fleet: Besieged) -> None:
    """The topics that were played with work like any other."""
    epoch = (1 << 53) - 1
    async with fleet.visitor("fuzz/reader") as reader, fleet.visitor("new") as writer:
        await reader.subscribe("f0", "☃")
        for topic in ("f0", "☃"):
            writer.publish(topic, int(time.time() * 1e6), epoch)
        await reader.got(2)
