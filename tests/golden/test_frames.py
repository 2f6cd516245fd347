"""Every frame, as it goes over the wire."""

import json

import pytest
from tests.golden import frame_examples as examples
from tests.golden import protocol
from tests.golden.golden import compare

SENDERS = {
    "client": (protocol.FROM_CLIENT, examples.FROM_CLIENT, examples.BAD_FROM_CLIENT),
    "broker": (protocol.FROM_BROKER, examples.FROM_BROKER, examples.BAD_FROM_BROKER),
}
RAW = '{"type":"publish","topic":"a","epoch":1,"seq":1,"data":%s}'


@pytest.mark.parametrize("sender", SENDERS)
def test_every_frame_is_written_as_it_was(sender: str) -> None:
    decode, frames, _ = SENDERS[sender]
    assert frames.keys() == protocol.types_of(decode)
    found = {}
    for type_, both in frames.items():
        minimal, full = (
            protocol.encoded(decode, examples.text(type_, fields)) for fields in both
        )
        found[type_] = {"minimal": json.loads(minimal), "full": json.loads(full)}
        for text in (minimal, full):
            assert protocol.encoded(decode, text) == text
    compare(f"frames_from_{sender}", found)


@pytest.mark.parametrize("sender", SENDERS)
def test_a_bad_frame_is_refused_in_the_same_words(sender: str) -> None:
    decode, _, bad = SENDERS[sender]
    found = {what: protocol.error_of(decode, text) for what, text in bad.items()}
    compare(f"bad_frames_from_{sender}", found)


@pytest.mark.parametrize("sender", SENDERS)
def test_fields_that_are_not_known_are_ignored(sender: str) -> None:
    decode, frames, _ = SENDERS[sender]
    for type_, (_, full) in frames.items():
        newer = examples.text(type_, {**full, "of_a_newer_version": [1]})
        assert protocol.encoded(decode, newer) == protocol.encoded(
            decode, examples.text(type_, full)
        )


@pytest.mark.parametrize(
    "data", ["null", '{ "b":1.50,  "a":[ ] }', '"\\u00e9"', "1e3", '{"a":1,"a":2}']
)
def test_data_is_passed_on_byte_for_byte(data: str) -> None:
    written = protocol.encoded(protocol.FROM_CLIENT, RAW % data)
    assert f'"data":{data},' in written
    assert json.loads(written)["data"] == json.loads(data)


def test_close_codes_stay() -> None:
    compare("close_codes", protocol.close_codes())
