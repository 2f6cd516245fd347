"""Why users and sub-channels of a plan of kind overlay are where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from brokerwise.report.numbers import counted, significant
from brokerwise.viewing.words import listed, quoted


@dataclass(frozen=True)
class UserAt:
    """A user on a broker: what its link costs there and where it would cost least, and
    how many of the sub-channels that it wants others there want, too."""

    name: str
    broker: str
    cost: float
    cheapest: str
    cheapest_cost: float
    has_room: bool
    reached: int
    wanted: int
    shared: int


@dataclass(frozen=True)
class SubchannelAt:
    """A sub-channel: who wants it where, how much is sent in it, and how often a
    message crosses a link between brokers, in all trees together."""

    name: str
    bounds: str
    users: int
    brokers: Sequence[str]
    sent: int
    links: int


def user_why(user: UserAt) -> str:
    where = f"{quoted(user.name)} is on broker {user.broker}"
    return f"{where}: {_link(user)}. {_sharing(user)}"


def subchannel_why(cell: SubchannelAt) -> str:
    who = f"{quoted(cell.name)} ({cell.bounds})"
    if not cell.users:
        return f"{who} is wanted by nobody."
    verb = "wants" if cell.users == 1 else "want"
    users = counted(cell.users, "user")
    brokers = f"broker{'' if len(cell.brokers) == 1 else 's'} {listed(cell.brokers)}"
    said = f"{users} on {brokers} {verb} {who}"
    if not cell.sent:
        return f"{said}, in which nobody sends anything that others want."
    sent = f"{cell.sent:,} a period are sent in it"
    if not cell.links:
        return f"{said}; {sent}, over no link between brokers."
    return f"{said}; {sent}, over {counted(cell.links, 'link')} of its trees."


def _link(user: UserAt) -> str:
    cost = f"its link there costs {significant(user.cost)}"
    if user.reached == 1:
        return f"{cost}, and it knows no other broker"
    if user.cost <= user.cheapest_cost:
        return f"{cost}, the least of {counted(user.reached, 'broker')} in its reach"
    least = significant(user.cheapest_cost)
    cheapest = f"the cheapest, to broker {user.cheapest}, would cost {least}"
    full = "" if user.has_room else ", but that broker has no room for it"
    return f"{cost}; {cheapest}{full}"


def _sharing(user: UserAt) -> str:
    wanted, shared = user.wanted, user.shared
    if not wanted:
        return "It wants no sub-channel."
    by = "by others, too" if shared else "by no other"
    if wanted == 1:
        return f"The one sub-channel that it wants is wanted there {by}."
    many = f"{wanted:,} sub-channels that it wants"
    if shared in (0, wanted):
        return f"All {many} are wanted there {by}."
    verb = "is" if shared == 1 else "are"
    return f"{shared:,} of the {many} {verb} wanted there {by}."
