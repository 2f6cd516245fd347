"""How a process is started: one line in, one line out."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.runtime.values import any_value
from tests.tiers import examples

from brokerwise.runtime.process.launch import Launch, Ready
from brokerwise.runtime.process.logs import LogFormat, LogLevel, LogSettings
from brokerwise.runtime.protocol.tokens import Keys, Role

KEYS = Keys.of_secret(b"a secret of this test")


@settings(max_examples=examples(20))
@given(st.data())
def test_a_launch_is_one_line_that_says_everything(data: st.DataObject) -> None:
    for kind in (Launch, Ready):
        said = data.draw(any_value(kind))
        line = msgspec.json.encode(said)
        assert b"\n" not in line
        assert msgspec.json.decode(line, type=kind) == said


def test_the_launch_of_a_version_before_can_be_read() -> None:
    line = b'{"name": "b0", "host": "h", "port": 0, "keys": {}}'
    launch = msgspec.json.decode(line, type=Launch)
    assert launch == Launch("b0", "h", 0, {})
    assert launch.log == LogSettings(LogFormat.TEXT, LogLevel.INFO)


def test_a_process_can_do_with_its_keys_what_it_was_given_them_for() -> None:
    keys = KEYS.only(Role.USER, Role.BROKER)
    launch = msgspec.json.decode(
        msgspec.json.encode(Launch("b0", "127.0.0.1", 0, keys.as_json())), type=Launch
    )
    signing = launch.signing()
    assert signing.token(Role.BROKER, "b0") == KEYS.token(Role.BROKER, "b0")
    assert signing.holder(KEYS.token(Role.OPERATOR, "ann")) is None
