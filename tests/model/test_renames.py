"""Names of fields that were others before are read."""

import json

import pytest
from tests.show.test_balance import result_of

from brokerwise.model.renames import RENAMED, with_new_names
from brokerwise.runtime.net.errors import UnreadableAnswerError
from brokerwise.runtime.net.http import HttpAnswer, read_answer
from brokerwise.runtime.protocol.balance import AutomaticOptions, Balance
from brokerwise.show.reports import result_in

BALANCE = {
    "mode": "manual",
    "paused": False,
    "mind": "balanced",
    "options": {},
    "moves_under_way": 0,
}


def test_an_answer_of_an_older_coordinator_is_read() -> None:
    answer = HttpAnswer(200, json.dumps(BALANCE).encode())
    found = read_answer(answer, Balance, "http://127.0.0.1:1")
    assert found == Balance(
        mode="manual",
        paused=False,
        balancer_status="balanced",
        options=AutomaticOptions(),
        moves_under_way=0,
    )


def test_an_answer_without_either_name_is_none() -> None:
    without = {name: value for name, value in BALANCE.items() if name != "mind"}
    answer = HttpAnswer(200, json.dumps(without).encode())
    with pytest.raises(UnreadableAnswerError, match="balancer_status"):
        read_answer(answer, Balance, "http://127.0.0.1:1")


def test_a_result_of_an_older_version_makes_the_same_report() -> None:
    new = result_of()
    old = {"mind" if name == RENAMED["mind"] else name: new[name] for name in new}
    assert "mind" in old
    assert result_in(json.dumps(old).encode(), "x") == new


def test_names_that_users_chose_stay() -> None:
    assert with_new_names({"topics": {"mind": 3}}) == {"topics": {"mind": 3}}
