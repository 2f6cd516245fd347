"""Plans of kind overlay, opened: their brokers, where each user and sub-channel is,
and why."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.names import Names
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.pipeline.overlay import Wired
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import wiring_of
from brokerwise.runtime.fleet.seeds import subchannel
from brokerwise.show.numbers import counted, percent, significant
from brokerwise.show.overlay import overlay_result, traffic, wired_details
from brokerwise.show.page import Page
from brokerwise.show.results import Result
from brokerwise.show.tables import Table
from brokerwise.show.view import (
    LISTED,
    Json,
    Search,
    View,
    found,
    kept_of,
    listed,
    page_of_plan,
    quoted,
    tables_json,
    unsaid,
    view_of,
)
from brokerwise.show.wiring_map import Map
from brokerwise.storage.network import read_network
from brokerwise.storage.overlay_plan import read_overlay_header, read_overlay_plan
from brokerwise.storage.place import Place


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


UNIT = "messages a period, sent and received by users"


class WiredBrokers:
    """A plan of kind overlay and its network."""

    def __init__(self, plan: OverlayPlan, network: Network) -> None:
        self._plan, self._network = plan, network
        self._demand = Demand.of(network)
        self._wiring = wiring_of(self._demand, plan.broker)
        names = Names.of(map(subchannel, range(len(network.subchannels))))
        self._subchannels, self._users = Search(names), Search(network.user_names)

    def find(self, text: str) -> Json:
        cells, users = self._subchannels.hits(text), self._users.hits(text)
        return {
            "topics": [self._subchannel(number) for number in cells.numbers],
            "subscribers": [self._user(number) for number in users.numbers],
            "more": cells.more or users.more,
        }

    def brokers(self) -> list[Json]:
        """The brokers in order; of very many the fullest."""
        capacity, load = self._network.capacity, self._plan.load
        share = load / np.maximum(capacity, 1)
        users = np.bincount(self._plan.broker, minlength=self._network.brokers)
        wanted = (self._wiring.followers > 0).sum(axis=0)
        shown = np.sort(np.argsort(-share, kind="stable")[:LISTED])
        return [
            {
                "number": number,
                "name": self._network.broker_names[number],
                "load": int(load[number]),
                "capacity": int(capacity[number]),
                "used": float(share[number]) if capacity[number] else None,
                "topics": int(wanted[number]),
                "users": int(users[number]),
                "note": f"its users want {counted(int(wanted[number]), 'sub-channel')}",
            }
            for number in shown.tolist()
        ]

    def broker(self, number: int) -> Json | None:
        if not 0 <= number < self._network.brokers:
            return None
        load, capacity = (
            int(self._plan.load[number]),
            int(self._network.capacity[number]),
        )
        of = f" ({percent(load / capacity)})" if capacity else ""
        users = np.flatnonzero(self._plan.broker == number)
        wanted = int((self._wiring.followers[:, number] > 0).sum())
        return {
            "number": number,
            "name": self._network.broker_names[number],
            "facts": [
                ["Load", f"{load:,} of {capacity:,}{of}"],
                ["Users", f"{len(users):,}"],
                ["Sub-channels that they want", f"{wanted:,}"],
            ],
            "tables": tables_json(
                [self._user_table(number, users), self._links(number)]
            ),
        }

    @cached_property
    def _traffic(self) -> Int64s:
        """What crosses the link between two brokers, both ways, in either order."""
        one_way = traffic(self._plan, self._wiring.sources)
        both: Int64s = one_way + one_way.T
        return both

    def _user(self, number: int) -> Json:
        broker = int(self._plan.broker[number])
        at = self._user_at(number, broker)
        load = int(self._demand.load[number])
        text = f"each message costs {significant(at.cost)}; load {load:,}"
        place = {
            "number": broker,
            "broker": at.broker,
            "text": text,
            "pairs": at.wanted,
        }
        return found(at.name, user_why(at), [place])

    def _user_at(self, number: int, broker: int) -> UserAt:
        names, links = self._network.broker_names, self._network.access[number]
        reach = np.flatnonzero(links >= 0)
        cheapest = int(reach[np.argmin(links[reach])])
        room = self._network.capacity[cheapest] - self._plan.load[cheapest]
        wanted = self._wanted(number)
        return UserAt(
            self._network.user_names[number],
            names[broker],
            links[broker] / THOUSANDTHS,
            names[cheapest],
            links[cheapest] / THOUSANDTHS,
            bool(room >= self._demand.load[number]),
            len(reach),
            len(wanted),
            int(np.count_nonzero(self._wiring.followers[wanted, broker] > 1)),
        )

    def _wanted(self, user: int) -> Int64s:
        wanted = self._network.wanted
        ends = slice(wanted.offsets[user], wanted.offsets[user + 1])
        return wanted.subchannels[ends].astype(np.int64)

    def _subchannel(self, number: int) -> Json:
        followers = self._wiring.followers[number]
        brokers = np.flatnonzero(followers).tolist()
        names = [self._network.broker_names[broker] for broker in brokers]
        cell = SubchannelAt(
            subchannel(number),
            self._bounds(number),
            int(followers.sum()),
            names,
            int(self._demand.total[number]),
            int(np.count_nonzero(self._plan.trees.subchannel == number)),
        )
        where = [
            {
                "number": broker,
                "broker": name,
                "text": f"wanted by {counted(int(followers[broker]), 'user')}",
                "pairs": int(followers[broker]),
            }
            for broker, name in zip(brokers, names, strict=True)
        ]
        return found(cell.name, subchannel_why(cell), where)

    def _bounds(self, number: int) -> str:
        """`price 0 to 10, volume 5 to 6`."""
        cells = np.unravel_index(number, self._network.subchannels.shape)
        return ", ".join(
            f"{axis.attribute} {axis.edges[cell]:g} to {axis.edges[cell + 1]:g}"
            for axis, cell in zip(self._network.subchannels.axes, cells, strict=True)
        )

    def _user_table(self, broker: int, users: Int64s) -> Table:
        order = np.argsort(-self._demand.load[users], kind="stable")[:LISTED]
        shown = [self._user_at(int(user), broker) for user in users[order]]
        of = "" if len(shown) == len(users) else f", {len(shown):,} of {len(users):,}"
        loads = self._demand.load[users[order]].tolist()
        name = self._network.broker_names[broker]
        return Table(
            f"Users on broker {name}, the busiest first{of}",
            ("user", "load", "cost of its link", "cheapest", "sub-channels", "shared"),
            [
                (
                    user.name,
                    f"{load:,}",
                    significant(user.cost),
                    significant(user.cheapest_cost),
                    f"{user.wanted:,}",
                    f"{user.shared:,}",
                )
                for user, load in zip(shown, loads, strict=True)
            ],
        )

    def _links(self, broker: int) -> Table:
        carried = self._traffic[broker]
        others = np.flatnonzero(carried)
        order = others[np.argsort(-carried[others], kind="stable")][:LISTED]
        names, costs = self._network.broker_names, self._network.core[broker]
        return Table(
            f"Links of broker {names[broker]}, the busiest first",
            ("to", "messages a period", "cost of one"),
            [
                (
                    names[int(other)],
                    f"{int(carried[other]):,}",
                    significant(float(costs[other] / THOUSANDTHS)),
                )
                for other in order
            ],
        )


def open_overlay(place: Place, network: Place | None) -> View:
    """Plan and network in memory, as they were when users were wired."""
    header = read_overlay_header(place)
    where = network or Place(header.network["path"])
    wired = Wired(
        read_overlay_plan(place),
        header,
        read_network(where),
        header.network["digest"],
    )
    page = page_of_plan(place, _result(place, wired))
    brokers = WiredBrokers(wired.plan, wired.network)
    return view_of(page, brokers, UNIT, wired.network.brokers, _map(page))


def _result(place: Place, wired: Wired) -> dict[str, Any]:
    """What `brokerwise overlay --json` prints."""
    header = wired.header
    assert header is not None
    return {
        **overlay_result(wired, place),
        "details": wired_details(wired),
        "network": header.network["path"],
        "network_digest": wired.digest,
        **unsaid(header.seconds),
        **kept_of(place, header.digest),
    }


def _map(page: Page) -> Json:
    """Where brokers and users are, and what crosses the links between brokers."""
    found = page.data["details"]
    drawn = next(plot for plot in page.plots if isinstance(plot, Map))
    brokers, users, links = found["brokers"], found["users"], found["links"]
    people = ("x", "y", "broker", "name", "load", "link")
    ends = {"from": "a", "to": "b", "traffic": "traffic", "cost": "cost"}
    return {
        "caption": drawn.caption,
        "tables": tables_json(drawn.tables),
        "brokers": _rows(brokers, {key: key for key in brokers}),
        "links": _rows(links, ends),
        "users": [list(row) for row in zip(*(users[k] for k in people), strict=True)],
    }


def _rows(columns: Result, names: Mapping[str, str]) -> list[Json]:
    """Columns as a row each, under other names."""
    values = zip(*(columns[key] for key in names.values()), strict=True)
    return [dict(zip(names, row, strict=True)) for row in values]
