"""How the processes of a test run share the tests."""

import pytest


@pytest.mark.xdist_group("spark")
def test_tests_that_share_a_session_are_one_group(
    request: pytest.FixtureRequest,
) -> None:
    """Versions of pytest and of xdist that do not fit each other forget groups without
    a word: each process then starts a session of its own."""
    in_groups = request.config.getoption("loadgroup", False)
    assert request.node.nodeid.endswith("@spark") == in_groups
