"""Users on brokers, and what they share there."""

from functools import cached_property

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.names import Names
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.planners.overlay.problem import Demand
from brokerwise.planners.overlay.wiring import wiring_of
from brokerwise.report.html import Table
from brokerwise.report.numbers import counted, percent, significant
from brokerwise.report.overlay_details import traffic
from brokerwise.runtime.fleet.seeds import subchannel
from brokerwise.viewing.overlay_words import (
    SubchannelAt,
    UserAt,
    subchannel_why,
    user_why,
)
from brokerwise.viewing.searching import Search
from brokerwise.viewing.shown import tables_json
from brokerwise.viewing.view import LISTED, Json, found

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
