"""Which broker a user is on, what that costs, and what it shares there."""

from collections.abc import Sequence

import pytest
from tests.auditing.overlay_cases import network_of, plan_of

from brokerwise.show.wired_users import (
    SubchannelAt,
    UserAt,
    WiredBrokers,
    subchannel_why,
    user_why,
)


def wired(homes: Sequence[int], capacity: int = 20) -> WiredBrokers:
    """u0 publishes 5 in each of two sub-channels; u1 wants both, u2 the first."""
    network = network_of(
        publishes=[{0: 5, 1: 5}, {}, {}],
        wants=[(), (0, 1), (0,)],
        users=[[0, 4], [27, 0], [30, 3]],
        brokers=[[0, 0], [30, 0], [30, 40]],
        capacity=[capacity, 30, 0],
    )
    return WiredBrokers(plan_of(network, homes), network)


def why(view: WiredBrokers, name: str) -> str:
    every = view.find(name)
    (found,) = every["topics"] + every["subscribers"]
    return str(found["why"])


def test_why_a_user_is_on_its_broker() -> None:
    view = wired([0, 1, 1])
    assert why(view, "u0") == (
        '"u0" is on broker b0: its link there costs 4, the least of 3 brokers in its '
        "reach. It wants no sub-channel."
    )
    assert why(view, "u1") == (
        '"u1" is on broker b1: its link there costs 3, the least of 3 brokers in its '
        "reach. 1 of the 2 sub-channels that it wants is wanted there by others, too."
    )
    assert why(view, "u2").endswith(
        "The one sub-channel that it wants is wanted there by others, too."
    )


def test_a_dearer_link_is_beside_the_cheapest() -> None:
    assert why(wired([1, 1, 1]), "u0").startswith(
        '"u0" is on broker b1: its link there costs 30.3; the cheapest, to broker b0, '
        "would cost 4. "
    )
    assert why(wired([1, 1, 1], capacity=9), "u0").startswith(
        '"u0" is on broker b1: its link there costs 30.3; the cheapest, to broker b0, '
        "would cost 4, but that broker has no room for it. "
    )


def test_a_subchannel_is_where_somebody_wants_it() -> None:
    view = wired([0, 1, 1])
    assert why(view, "subchannel/0") == (
        '2 users on broker b1 want "subchannel/0" (price 0 to 1); 5 a period are sent '
        "in it, over 1 link of its trees."
    )
    assert (
        why(view, "subchannel/2")
        == '"subchannel/2" (price 2 to 5) is wanted by nobody.'
    )
    (found,) = view.find("subchannel/1")["topics"]
    place = {"number": 1, "broker": "b1", "text": "wanted by 1 user", "pairs": 1}
    assert found["where"] == [place]


def test_a_broker_has_its_users_and_links() -> None:
    view = wired([0, 1, 1])
    broker = view.broker(1)
    assert broker is not None
    assert broker["facts"] == [
        ["Load", "15 of 30 (50 %)"],
        ["Users", "2"],
        ["Sub-channels that they want", "2"],
    ]
    users, links = broker["tables"]
    assert users["rows"] == [
        ["u1", "10", "3", "3", "2", "1"],
        ["u2", "5", "3", "3", "1", "1"],
    ]
    assert links["rows"] == [["b0", "10", "30"]]
    assert view.broker(3) is None


def test_brokers_without_capacity_have_no_share() -> None:
    rows = wired([0, 1, 1]).brokers()
    assert [row["users"] for row in rows] == [1, 2, 0]
    assert [row["used"] for row in rows] == [0.5, 0.5, None]


@pytest.mark.parametrize(
    ("wanted", "shared", "said"),
    [
        (0, 0, "It wants no sub-channel."),
        (1, 0, "The one sub-channel that it wants is wanted there by no other."),
        (4, 0, "All 4 sub-channels that it wants are wanted there by no other."),
        (4, 4, "All 4 sub-channels that it wants are wanted there by others, too."),
        (
            4,
            2,
            "2 of the 4 sub-channels that it wants are wanted there by others, too.",
        ),
    ],
)
def test_what_a_user_shares_is_said_as_it_is(
    wanted: int, shared: int, said: str
) -> None:
    user = UserAt("u", "b", 1.0, "b", 1.0, True, 1, wanted, shared)
    known = '"u" is on broker b: its link there costs 1, and it knows no other broker.'
    assert user_why(user) == f"{known} {said}"


def test_a_subchannel_in_which_nothing_is_sent_says_so() -> None:
    silent = SubchannelAt("s", "x 0 to 1", 1, ["b"], 0, 0)
    assert subchannel_why(silent) == (
        '1 user on broker b wants "s" (x 0 to 1), in which nobody sends anything that '
        "others want."
    )
    near = SubchannelAt("s", "x 0 to 1", 2, ["b", "c"], 7, 0)
    assert subchannel_why(near).endswith(
        "; 7 a period are sent in it, over no link between brokers."
    )
