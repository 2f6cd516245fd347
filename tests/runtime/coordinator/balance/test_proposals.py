"""Proposals and modes, as they are stored: what an earlier version wrote is read."""

import pytest
from tests.runtime.coordinator.fakes import plain_seed
from tests.runtime.coordinator.seeds import States

from brokerwise.model.errors import InputError
from brokerwise.runtime.coordinator.balance.options import (
    BalanceMode,
    planner_options,
    read_mode,
    write_mode,
)
from brokerwise.runtime.coordinator.balance.proposals import (
    BrokerRecord,
    MoveRecord,
    ProposalRecord,
    find_decision,
    read_decision,
    store_proposal,
)
from brokerwise.runtime.coordinator.store import setting
from brokerwise.runtime.protocol.balance import AutomaticOptions, DecisionState
from brokerwise.runtime.protocol.fields import BodyReader, FieldError

PROPOSAL = ProposalRecord(
    "planned",
    (BrokerRecord("b0", 1, 24, 18), BrokerRecord("b1", 0, 0, 6)),
    (MoveRecord("ann", "b0", "b1", 7),),
    bound=5,
    moves_before=2,
    period_seconds=60,
    capacity=9.5,
)
STORED_PROPOSAL = (
    '{"policy":"planned","brokers":[{"broker":"b0","epoch":1,"before":24,"after":18,'
    '"closing":false},{"broker":"b1","epoch":0,"before":0,"after":6,"closing":false}],'
    '"moves":[{"user":"ann","source":"b0","target":"b1","state_bytes":7}],"bound":5,'
    '"moves_before":2,"period_seconds":60,"capacity":9.5,"broker_hour":null}'
)
DIGEST = "53794eb6f3ab950714e7397aad9ff6725cdf260ea4c3c3495ae651ab1a9b90dc"
MODE = BalanceMode(True, False, AutomaticOptions(beta=2.0, capacity=5.0))
STORED_MODE = (
    '{"automatic":true,"paused":false,"options":{"policy":"planned","alpha":0.1,'
    '"beta":2.0,"gamma":0.5,"theta":0.0,"max_moves":null,"max_bytes":null,"hot":null,'
    '"capacity":5.0,"broker_hour":null,"every_seconds":10.0,"window_seconds":300.0,'
    '"confirm":2,"hourly_moves":null}}'
)


def test_a_proposal_is_stored_as_ever_and_has_the_digest_that_it_had(
    states: States,
) -> None:
    sql = states(plain_seed(1))
    number = store_proposal(sql, PROPOSAL, "too much on b0", 5.0).number
    stored = sql.execute("SELECT proposal, digest FROM decisions").fetchone()
    assert stored == (STORED_PROPOSAL, DIGEST)
    found = read_decision(sql, number)
    assert (found.proposal, found.state) == (PROPOSAL, DecisionState.PROPOSED)
    assert find_decision(sql, DIGEST[:12]) == found


def test_the_mode_is_stored_as_ever(states: States) -> None:
    sql = states(plain_seed(1))
    assert read_mode(sql) == BalanceMode()
    write_mode(sql, MODE)
    assert setting(sql, "balance") == STORED_MODE
    assert read_mode(sql) == MODE


def test_a_mode_that_the_version_before_stored_is_read(states: States) -> None:
    sql = states(plain_seed(1))
    old = STORED_MODE.replace('"options":', '"wishes":')
    sql.execute("UPDATE settings SET value = ? WHERE name = 'balance'", (old,))
    assert read_mode(sql) == MODE


def test_thresholds_of_operators_are_by_the_second_of_planners_by_the_period() -> None:
    options = AutomaticOptions(beta=2.0, theta=3.0, hot=0.2, max_moves=4)
    asked = planner_options(options)
    assert (asked.beta, asked.theta, asked.hot, asked.max_moves) == (120, 180, 0.2, 4)


def test_options_out_of_range_are_refused() -> None:
    with pytest.raises(InputError, match="gamma: found -1"):
        planner_options(AutomaticOptions(gamma=-1))
    for gamma in (b'"high"', b"-1", b"1e7"):
        with pytest.raises(FieldError, match=r"body\.gamma: Expected `float`"):
            BodyReader(AutomaticOptions).read(b'{"gamma": ' + gamma + b"}")
