"""Errors carry what the command line prints."""

from brokerwise.model.errors import BrokerwiseError, DigestMismatchError, InputError


def test_an_error_has_details_and_a_hint() -> None:
    error = InputError("no such file", details=["a.csv"], hint="Look again.")
    assert str(error) == error.message == "no such file"
    assert error.details == ("a.csv",)
    assert error.hint == "Look again."
    assert isinstance(error, ValueError)
    assert BrokerwiseError("failed").details == ()


def test_a_digest_mismatch_shows_the_start_of_both() -> None:
    error = DigestMismatchError("w/topics", "a" * 64, "b" * 64)
    assert (error.found, error.expected) == ("a" * 64, "b" * 64)
    assert str(error) == (
        "w/topics has digest aaaaaaaaaaaa, expected bbbbbbbbbbbb: it has changed since"
    )
