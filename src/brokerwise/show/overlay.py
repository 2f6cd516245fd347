"""Plans of kind overlay: the result that `brokerwise overlay --json` prints, the same
in words, and its report."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from brokerwise.model.arrays import Float64s, Int64s
from brokerwise.model.network import THOUSANDTHS, Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.units import told_apart
from brokerwise.planners.overlay.problem import Demand
from brokerwise.show.numbers import counted, duration, percent, short, significant
from brokerwise.show.page import Page
from brokerwise.show.plots import Axis, Plot, Series, bars_or_line, capacity_line
from brokerwise.show.results import (
    STOPPED,
    Result,
    bound_fact,
    finite,
    how_to_repeat,
    is_plan,
    no_cheaper,
    origin,
    others_would,
    quality,
    screen,
    with_gap,
)
from brokerwise.show.tables import Fact, Table
from brokerwise.show.wiring_map import colours, layout, link_text, overlay_map

if TYPE_CHECKING:
    from brokerwise.pipeline.overlay import Wired
    from brokerwise.storage.place import Place


# Costs are whole thousandths in a plan; people have them in their own unit.
_COSTS = (
    *("access", "core", "cost", "bound_access", "bound_core"),
    *("random", "greedy", "clustering", "steiner", "steiner_literal"),
)
_OTHERS = ("crr", "moves", "rounds", "start", "most_load")


def overlay_result(wired: "Wired", out: "Place") -> dict[str, Any]:
    """One plan and what limits it; where there is none, its figures are null and
    `reason` says why."""
    plan, network = wired.plan, wired.network
    done = wired.header is not None
    found = limits(plan, network) if done else None
    result = {
        **quality(plan),
        "objective": _units(plan.objective),
        "bound": _units(plan.bound),
        "tree": plan.tree,
        "brokers": None if found is None else found.used,
        "load": int(plan.load.sum()) if done else None,
        **{key: _units(plan.figures.get(key)) for key in _COSTS},
        **{key: finite(plan.figures.get(key)) for key in _OTHERS},
        "users": network.users,
        "fleet": network.brokers,
        "capacity": int(network.capacity.sum()),
        "subchannels": len(network.subchannels),
        "full": None if found is None else found.full,
        "kept": None if found is None else found.kept,
        "period_seconds": network.period_seconds,
        **origin(plan, out, None if wired.header is None else wired.header.digest),
    }
    return result if done else result | {"reason": plan.reason}


def wired_details(wired: "Wired") -> dict[str, Any]:
    """What only a report shows: the map, loads of brokers, traffic on links."""
    from brokerwise.planners.overlay.wiring import wiring_of

    demand = Demand.of(wired.network)
    sources = wiring_of(demand, wired.plan.broker).sources
    return overlay_details(wired.plan, wired.network, sources, demand.load)


def _units(thousandths: int | None) -> float | None:
    """A cost in the network's own unit."""
    return None if thousandths is None else thousandths / THOUSANDTHS


_LINKS_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Limits:
    """What capacity does to a wiring.

    Attributes
    ----------
    used
        Brokers that have a user.
    full
        Brokers without room for some user whose access link to them is cheaper than
        the one that it has.
    kept
        The users that those brokers have no room for.
    """

    used: int
    full: int
    kept: int


def limits(plan: OverlayPlan, network: Network) -> Limits:
    """O(users * brokers), some users at a time."""
    load = Demand.of(network).load
    room = network.capacity - plan.load
    full = np.zeros(network.brokers, np.bool_)
    kept = 0
    each = max(1, _LINKS_AT_ONCE // max(1, network.brokers))
    for first in range(0, network.users, each):
        some = slice(first, first + each)
        links = network.access[some]
        own = np.take_along_axis(links, plan.broker[some, None].astype(np.int64), 1)
        refused = (links >= 0) & (links < own) & (load[some, None] > room)
        full |= refused.any(axis=0)
        kept += int(refused.any(axis=1).sum())
    used = len(np.unique(plan.broker))
    return Limits(used, int(full.sum()), kept)


MOST_USERS = 3_000
"""Users that a map shows."""
MOST_LINKS = 400
"""Links that a map and a table show."""
_DIGITS = 6


def overlay_details(
    plan: OverlayPlan, network: Network, sources: Int64s, loads: Int64s
) -> dict[str, Any]:
    """Plain data of a plan.

    `sources` is what users on each broker (column) send in each sub-channel (row),
    `loads` what each user sends and receives. O(users, links of all trees, brokers^3).
    """
    places = layout(network, plan.broker)
    return {
        "how": places.how,
        "brokers": _brokers(plan, network, places.brokers),
        "users": _users(plan, network, places.users, loads),
        "links": _links(traffic(plan, sources), network),
    }


def traffic(plan: OverlayPlan, sources: Int64s) -> Int64s:
    """What crosses the link between two brokers, both ways; in [lower, higher]."""
    brokers = sources.shape[1]
    trees = plan.trees
    low = np.minimum(trees.parent, trees.child)
    high = np.maximum(trees.parent, trees.child)
    found = np.zeros((brokers, brokers), np.int64)
    np.add.at(found, (low, high), sources[trees.subchannel, trees.source])
    return found


def _brokers(plan: OverlayPlan, network: Network, places: Float64s) -> dict[str, Any]:
    users = np.bincount(plan.broker, minlength=network.brokers)
    return {
        "name": [network.broker_names[b] for b in range(network.brokers)],
        **_xy(places),
        "colour": colours(places),
        "capacity": network.capacity.tolist(),
        "load": plan.load.tolist(),
        "users": users.tolist(),
    }


def _users(
    plan: OverlayPlan, network: Network, places: Float64s, loads: Int64s
) -> dict[str, Any]:
    """At most MOST_USERS of them, at equal distances in the order of their numbers."""
    most = min(MOST_USERS, network.users)
    chosen = np.linspace(0, network.users - 1, most).round().astype(np.int64)
    broker = plan.broker[chosen]
    return {
        "total": network.users,
        "name": [network.user_names[int(u)] for u in chosen],
        **_xy(places[chosen]),
        "broker": broker.tolist(),
        "load": loads[chosen].tolist(),
        "link": (network.access[chosen, broker] / THOUSANDTHS).tolist(),
    }


def _links(carried: Int64s, network: Network) -> dict[str, Any]:
    """Links that carry something, the busiest first."""
    low, high = np.nonzero(carried)
    found = carried[low, high]
    order = np.argsort(-found, kind="stable")[:MOST_LINKS]
    low, high = low[order], high[order]
    return {
        "total": len(found),
        "traffic_total": int(found.sum()),
        "a": low.tolist(),
        "b": high.tolist(),
        "traffic": found[order].tolist(),
        "cost": (network.core[low, high] / THOUSANDTHS).tolist(),
    }


def _xy(places: Float64s) -> dict[str, list[float]]:
    return {
        axis: [float(f"{value:.{_DIGITS}g}") for value in places[:, number]]
        for number, axis in enumerate("xy")
    }


COMPARED = ("greedy", "clustering", "steiner")


def answer(result: Result) -> str:
    """The plan in a sentence: what it costs, and how good that is."""
    if not is_plan(result):
        return f"{result['status']}: {result['reason']}"
    if not result["users"]:
        return "There are no users: there is nothing to wire."
    if not result["load"]:
        return "Nothing is sent that somebody else wants: this costs nothing."
    cost = f"{significant(result['cost'])} (access {short(result['access'])}, "
    cost += f"core {short(result['core'])})"
    verb = "costs" if result["users"] == 1 else "cost"
    said = f"{_who(result)} {verb} {cost}{_closeness(result)}"
    return f"{said}{_beside_random(result)}."


def _closeness(result: Result) -> str:
    """How far above the best possible cost the plan may be."""
    if result["status"] == "optimal":
        return ", the least possible"
    if not result["bound"]:
        return ", with nothing proven about the best possible"
    return f"; {no_cheaper('wiring', result)}"


def effort(result: Result) -> str:
    """How the plan was found."""
    said = f"algorithm {result['algorithm']}"
    if result["tree"]:
        said += " on one tree"
    said += f", {result['seconds']['total']:.1f} s"
    if result["start"] not in (None, result["algorithm"]):
        said += f", {counted(result['moves'], 'move')} in "
        said += f"{counted(result['rounds'], 'round')}, the best from {result['start']}"
    return said


def others(result: Result) -> str:
    """What the other algorithms come to, if they were tried on the way."""
    tried = [name for name in COMPARED if name != result["algorithm"]]
    tried = [name for name in tried if result[name] is not None]
    said = [
        f"{name} {short(result[name])}{_more(result, result[name])}" for name in tried
    ]
    return others_would("cost", said)


def bound_line(result: Result) -> str:
    """What no plan costs less than, and what it is made of. An integer program has
    no parts."""
    said = with_gap(f"bound: {significant(result['bound'])}", result["gap"])
    access, core = result["bound_access"], result["bound_core"]
    if access is None or core is None or result["algorithm"] == "ilp":
        return said
    return f"{said} = access {short(access)} + core {short(core)}"


def limit(result: Result) -> Iterator[str]:
    """Whether the brokers' capacity keeps users from cheaper links."""
    if not result["load"]:
        return
    kept, full = result["kept"], result["full"]
    if not kept:
        free = 1 - result["load"] / result["capacity"]
        yield (
            "not binding: no full broker keeps a user from a cheaper link; "
            f"{percent(free)} of the capacity is free"
        )
        return
    brokers = f"{full:,} of {counted(result['fleet'], 'broker')}"
    yield (
        f"binding: capacity of {brokers}; {counted(kept, 'user')} would have "
        "a cheaper link there"
    )


def cut_short(result: Result) -> Iterator[str]:
    """What kept the search from going on."""
    if result["options"].get("stopped"):
        yield STOPPED


def _who(result: Result) -> str:
    users, used, every = result["users"], result["brokers"], result["fleet"]
    brokers = counted(every, "broker")
    if used < every:
        brokers = f"{used:,} of {brokers}"
    return f"{counted(users, 'user')} on {brokers}"


def _beside_random(result: Result) -> str:
    if result["crr"] is None or result["random"] == result["cost"]:
        return ""
    times, _ = told_apart(significant, result["crr"], 1)
    return f"; random wiring would cost {times} times as much"


def _more(result: Result, cost: float) -> str:
    own = result["cost"]
    if not own or cost == own:
        return " (the same)" if cost == own else ""
    what = "more" if cost > own else "less"
    return f" ({percent(abs(cost / own - 1))} {what})"


def overlay_text(result: Result, report: Path | None) -> str:
    """One sentence, the numbers that carry it, what limits it, and where it is."""
    if not is_plan(result):
        return answer(result)
    return screen(
        answer(result), _numbers(result), ("Plan", result["out"]), ("Report", report)
    )


def _numbers(result: Result) -> Iterator[str]:

    yield effort(result)
    if compared := others(result):
        yield compared
    yield bound_line(result)
    yield from limit(result)
    yield from cut_short(result)


def page_of(result: Result) -> Page:
    return Page(
        title=f"Overlay for {result['network']}",
        question="Which broker should each user connect to?",
        answer=answer(result),
        facts=[*_facts(result), *_remarks(result)],
        tables=[],
        plots=plots(result),
        inputs=_inputs(result),
        data=result,
    )


def _facts(result: Result) -> Iterator[Fact]:
    yield Fact("Cost", significant(result["cost"]), "access and core")
    yield Fact("Access", significant(result["access"]), _share(result, "access"))
    yield Fact("Core", significant(result["core"]), _share(result, "core"))
    yield bound_fact("Certified bound", significant(result["bound"]), result["gap"])
    if result["crr"] is not None:
        crr = significant(result["crr"])
        yield Fact("Cost reduction ratio", crr, "what random wiring costs, over this")
    yield Fact(
        "Users",
        f"{result['users']:,}",
        f"on {result['brokers']:,} of {counted(result['fleet'], 'broker')}",
    )
    load, capacity = result["load"], result["capacity"]
    of = f"{percent(load / capacity)} of the capacity; " if capacity else ""
    most = f"{result['most_load']:,} on the fullest broker"
    yield Fact("Load", f"{load:,}", f"{of}{most}")
    links = result["details"]["links"]
    yield Fact(
        "Links between brokers",
        f"{links['total']:,}",
        f"are used; {links['traffic_total']:,} messages cross them in a period",
    )


def _share(result: Result, part: str) -> str:
    if not result["cost"]:
        return ""
    return f"{percent(result[part] / result['cost'])} of the cost"


def _remarks(result: Result) -> Iterator[Fact]:
    """What limits the plan, and what it is compared with."""
    for said in limit(result):
        yield Fact("Brokers that are too full", f"{result['full']:,}", said)
    if compared := others(result):
        yield Fact("Beside the others", significant(result["cost"]), compared)


def _inputs(result: Result) -> list[Fact]:
    found = "; ".join([effort(result), bound_line(result), *cut_short(result)])
    return [
        Fact("Network", result["network"], _sizes(result)),
        Fact("Digest of the network", result["network_digest"]),
        Fact("Plan", result["out"], result["digest"]),
        Fact("Algorithm", f"{result['algorithm']}, seed {result['seed']}", found),
        *how_to_repeat(result),
    ]


def _sizes(result: Result) -> str:
    return (
        f"{counted(result['users'], 'user')}, {counted(result['fleet'], 'broker')}, "
        f"{counted(result['subchannels'], 'sub-channel')}, "
        f"period of {duration(result['period_seconds'])}"
    )


_Row: TypeAlias = tuple[str, float | None, float | None, float]
"""A name, access, core, and what both come to."""


def plots(result: Result) -> list[Plot]:
    """The map, what it costs beside others, how full brokers are, busy links."""
    return [overlay_map(result), _costs(result), _loads(result), _links_plot(result)]


def _costs(result: Result) -> Plot:
    """Access and core of the plan and the bound; of the others what they cost."""
    tried = [n for n in ("random", *COMPARED) if n != result["algorithm"]]
    rows: list[_Row] = [
        (name, None, None, result[name]) for name in tried if result[name] is not None
    ]
    rows.append(("this plan", result["access"], result["core"], result["cost"]))
    split = result["bound_access"], result["bound_core"]
    if result["algorithm"] == "ilp":  # it is proven as a whole
        split = None, None
    rows.append(("bound", *split, result["bound"]))
    names = [row[0] for row in rows]
    series = [
        _bars("access", [row[1] for row in rows], names, 0),
        _bars("core", [row[2] for row in rows], names, 1),
        _bars(
            "access and core",
            [row[3] if row[1] is None else None for row in rows],
            names,
            2,
        ),
    ]
    return Plot(
        "What it costs, and what others would",
        "Access and core in the unit of the links' costs, times messages a period. "
        "No wiring can cost less than the bound.",
        Axis("", False, names),
        Axis("cost", False),
        [each for each in series if len(each.x)] if result["cost"] else [],
        [_cost_table(rows)],
        stacked=True,
    )


def _bars(
    name: str, values: list[float | None], labels: list[str], colour: int
) -> Series:
    shown = [(at, v) for at, v in enumerate(values) if v is not None]
    return Series(
        name,
        [at for at, _ in shown],
        [value for _, value in shown],
        [f"{labels[at]}, {name}: {significant(value)}" for at, value in shown],
        "bar",
        colour,
    )


def _cost_table(rows: list[_Row]) -> Table:
    return Table(
        "Costs",
        ("", "access", "core", "in all"),
        [
            (name, *("" if v is None else significant(v) for v in numbers))
            for name, *numbers in rows
        ],
    )


def _loads(result: Result) -> Plot:
    brokers = result["details"]["brokers"]
    rows = [
        (load / capacity if capacity else 0.0, name, load, capacity, users)
        for name, load, capacity, users in zip(
            *(brokers[key] for key in ("name", "load", "capacity", "users")),
            strict=True,
        )
    ]
    rows.sort(key=lambda row: -row[0])
    texts = [
        f"broker {name} carries {load:,} of {capacity:,}, {percent(share)}"
        for share, name, load, capacity, _ in rows
    ]
    shares = [100 * row[0] for row in rows]
    last = len(rows)
    return Plot(
        "Load of the brokers",
        "What the users of each broker send and receive, as a share of its capacity, "
        "the fullest first.",
        Axis("brokers", False),
        Axis("load, % of capacity", False),
        [
            Series("load", range(1, last + 1), shares, texts, bars_or_line(last), 0),
            capacity_line(0.5, last + 0.5),
        ]
        if rows
        else [],
        [
            Table(
                "Brokers, the fullest first",
                ("broker", "users", "load", "capacity", "share"),
                [
                    (name, f"{users:,}", f"{load:,}", f"{capacity:,}", percent(share))
                    for share, name, load, capacity, users in rows
                ],
            )
        ],
    )


def _links_plot(result: Result) -> Plot:
    details = result["details"]
    links, names = details["links"], details["brokers"]["name"]
    shown = len(links["a"])
    of = "" if shown == links["total"] else f", {shown:,} of {links['total']:,}"
    ends = list(zip(links["a"], links["b"], strict=True))
    return Plot(
        "Traffic on the links between brokers",
        f"What crosses each link that is used, the busiest first{of}.",
        Axis("links", False),
        Axis("messages a period", False),
        [
            Series(
                "traffic",
                range(1, shown + 1),
                links["traffic"],
                [link_text(details, number) for number in range(shown)],
                bars_or_line(shown),
                0,
            )
        ],
        [
            Table(
                f"Links, the busiest first{of}",
                ("link", "traffic", "share", "cost of one"),
                [
                    (
                        f"{names[a]} \N{EN DASH} {names[b]}",
                        f"{traffic:,}",
                        percent(traffic / links["traffic_total"]),
                        significant(cost),
                    )
                    for (a, b), traffic, cost in zip(
                        ends, links["traffic"], links["cost"], strict=True
                    )
                ],
            )
        ],
    )
