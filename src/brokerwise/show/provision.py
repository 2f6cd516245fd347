"""Plans of kind provision: the result that `brokerwise provision --json` prints, the
same in words, and its report."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any

from brokerwise.model.plan import WITHOUT_PLAN, Plan, Status
from brokerwise.model.units import told_apart
from brokerwise.show.numbers import counted, dollars, duration, percent
from brokerwise.show.page import Page
from brokerwise.show.plots import Plot, brokers_by_type
from brokerwise.show.results import (
    STOPPED,
    Result,
    bound_fact,
    finite,
    gap_text,
    how_to_repeat,
    is_plan,
    no_cheaper,
    origin,
    quality,
    with_gap,
)
from brokerwise.show.spending import (
    fleet_label,
    has_no_name,
    plots_of_one,
    plots_of_several,
    spending,
    title,
    topic_tables,
    type_label,
)
from brokerwise.show.tables import Fact, Table, in_columns

if TYPE_CHECKING:
    from brokerwise.pipeline.provision.replan import Replanned
    from brokerwise.planners.provision.solve import Step
    from brokerwise.storage.place import Place
    from brokerwise.storage.plan import PlanHeader


_FIGURES = (
    *("cost", "cost_brokers", "cost_bandwidth", "cost_month"),
    *("incoming", "outgoing", "pairs", "load_bound", "brokers_bound"),
    *("load_bound_paper", "bound_paper", "gap_paper", "modest", "left_out"),
)

# What was found to do where there is no plan: more brokers, or more moves.
_FOUND = ("brokers_found", "moves_found")


def plan_result(
    plan: Plan, header: "PlanHeader | None", out: "Place", facts: Result
) -> dict[str, Any]:
    """One plan; where there is none, its figures are null, but for what is proven,
    and `reason` says why."""
    done = header is not None
    result = {
        **quality(plan),
        "threshold": plan.threshold,
        "types": _types(plan),
        "gigabyte_usd": plan.fleet.gigabyte_usd,
        "gigabyte_in_usd": plan.fleet.incoming_usd,
        "brokers": len(plan.brokers) if done else None,
        "load": plan.load if done else None,
        **{key: finite(plan.figures.get(key)) for key in _FIGURES},
        **origin(plan, out, None if header is None else header.digest),
        **facts,
    }
    if done:
        return result
    found = {name: plan.figures.get(name) for name in _FOUND}
    return result | {"reason": plan.reason, "tried": list(plan.tried), **found}


def budget_result(plan: Plan, budget: float | None) -> dict[str, Any]:
    """Whether a plan can be had for so much; nothing if nobody asked."""
    from brokerwise.planners.provision.solve import affordable

    if budget is None:
        return {}
    if plan.status is Status.INFEASIBLE:
        return {"budget": budget, "affordable": "no"}
    return {"budget": budget, "affordable": affordable(plan, budget).value}


def naive_result(steps: "Sequence[Step]") -> dict[str, Any]:
    """What the naive plan comes to; nothing if the steps were not planned."""
    if not steps or steps[0].cost is None:
        return {}
    return {"naive": {"brokers": steps[0].brokers, "cost": steps[0].cost}}


def moves_result(replanned: "Replanned", max_moves: int | None) -> dict[str, Any]:
    """What changed from the plan before."""
    keys = ("moves", "added", "removed", "kept", "brokers_added", "brokers_removed")
    return {
        **{key: int(getattr(replanned, key)) for key in keys},
        "cost_before": replanned.cost_before,
        "cost_fresh": replanned.cost_fresh,
        "max_moves": max_moves,
    }


def provision_details(
    plan: Plan,
    steps: "Sequence[Step]",
    topics: tuple[Any, Any],
    result: Result,
) -> dict[str, Any]:
    """What only a report shows: the steps, and where the money goes."""
    rates, names = topics
    period_seconds, message_bytes = result["period_seconds"], result["message_bytes"]
    return {
        "steps": [asdict(step) for step in steps],
        "spending": spending(plan, rates, names, period_seconds, message_bytes),
    }


def _types(plan: Plan) -> list[dict[str, Any]]:
    """The types of the fleet, with how many brokers of each the plan has."""
    return [
        {
            "type": kind.name,
            "brokers": int(count),
            "capacity": kind.capacity,
            "hour_usd": kind.hour_usd,
            "limit": kind.count,
        }
        for kind, count in zip(plan.fleet, brokers_by_type(plan), strict=True)
    ]


# A gap from which on it is said that not everything was tried.
WORTH_TRYING = 0.01


def answer(result: Result) -> str:
    """The plan in a sentence."""
    if not is_plan(result):
        return f"{result['status']}: {result['reason']}"
    if not result["brokers"]:
        return "Nothing has to be carried: no broker is needed, which costs nothing."
    verb = "carries" if result["brokers"] == 1 else "carry"
    return (
        f"{_brokers(result)} {verb} {counted(result['pairs'], 'pair')} for "
        f"{dollars(result['cost'])} a period of {_period(result)} "
        f"({dollars(result['cost_month'])} a month){_closeness(result)}."
    )


def answer_of_several(results: Sequence[Result]) -> str:
    """Several plans in a sentence: the cheapest and the dearest."""
    plans = [result for result in results if is_plan(result)]
    many = counted(len(results), "plan")
    if not plans:
        proven = all(result["status"] == Status.INFEASIBLE for result in results)
        return f"None of {many} {'is possible' if proven else 'was found'}."
    by_cost = sorted(plans, key=lambda plan: plan["cost"])
    low, high = by_cost[0], by_cost[-1]
    states = [result["status"] for result in results]
    numbers = [(states.count(status), status) for status in WITHOUT_PLAN]
    rest = "".join(f"; {n:,} of them {status}" for n, status in numbers if n)
    least, most = told_apart(dollars, low["cost"], high["cost"])
    return (
        f"{many}{rest}: from {least} ({title(low)}) to {most} ({title(high)}) a period "
        f"of {_period(low)}."
    )


def budget_sentence(result: Result) -> str:
    """Can it be had for so much, and how that is known."""
    money = (result["budget"], result["cost"], result["bound"])
    if result["affordable"] == "yes":
        budget, cost = told_apart(dollars, *money[:2])
        return f"yes: {cost} is within the budget of {budget}"
    if result["affordable"] == "no":
        budget, bound = told_apart(dollars, money[0], money[2])
        return (
            f"no: every plan costs at least {bound}, "
            f"which is above the budget of {budget}"
        )
    budget, cost, bound = told_apart(dollars, *money)
    return (
        f"unknown: this plan costs {cost}, every plan at least {bound}, and the budget "
        f"of {budget} is between them"
    )


def number_lines(result: Result) -> Iterator[tuple[str, str]]:
    """The numbers that carry the answer, each with its label."""
    yield (
        "cost",
        f"brokers {dollars(result['cost_brokers'])} + bandwidth "
        f"{dollars(result['cost_bandwidth'])}",
    )
    yield (
        "load",
        f"{result['load']:,} = {result['incoming']:,} incoming + "
        f"{result['outgoing']:,} outgoing; at least {result['load_bound']:,}",
    )
    certified = with_gap(dollars(result["bound"]), result["gap"])
    paper = with_gap(dollars(result["bound_paper"]), result["gap_paper"])
    yield "bounds", f"certified {certified}, the paper's {paper}"
    yield "prices", prices(result)
    naive = result.get("naive")
    if naive and naive["cost"]:
        beside = _beside(result["cost"], naive["cost"])
        brokers = counted(naive["brokers"], "broker")
        yield "naive", f"{brokers}, {dollars(naive['cost'])}: {beside}"


def _beside(cost: float, naive: float) -> str:
    """What the naive plan costs next to this one; it may cost less."""
    if isclose(cost, naive):
        return "as much as this plan"
    if naive < cost:
        return f"{percent(1 - naive / cost)} less than this plan"
    return f"you save {percent(1 - cost / naive)}"


def prices(result: Result) -> str:
    types, sent = result["types"], result["gigabyte_usd"]
    hours = [dollars(kind["hour_usd"]) for kind in types]
    if len(types) > 1:
        labels = map(type_label, types)
        hours = [f"{label} {usd}" for label, usd in zip(labels, hours, strict=True)]
    volume = f"{dollars(sent)} a gigabyte"
    if result["gigabyte_in_usd"] != sent:
        volume += f" out and {dollars(result['gigabyte_in_usd'])} in"
    assumed = " (as the paper has for c3.large, where none were given)"
    return (
        f"{', '.join(hours)} an hour, {volume}"
        f"{assumed if result['prices_assumed'] else ''}"
    )


def left_out(result: Result) -> Iterator[str]:
    """Topics that no broker can carry."""
    number = result["left_out"]
    if number:
        verb, them = ("is", "it") if number == 1 else ("are", "them")
        yield (
            f"{counted(number, 'topic')} {verb} too large for every broker and left "
            f"out: nobody needs {them}"
        )


def searched(result: Result) -> Iterator[str]:
    """What should be known of the search: another way that was taken, that it was
    stopped, what was not tried."""
    yield from tried(result)
    if result["options"].get("stopped"):
        yield STOPPED
    yield from untried(result)


def tried(result: Result) -> Iterator[str]:
    """That another way was taken than the one that was asked for."""
    asked = result["options"].get("asked")
    if asked:
        yield (
            f"{asked} found no plan within the limits of the fleet; "
            f"{result['algorithm']} did"
        )


def untried(result: Result) -> Iterator[str]:
    """What was not tried, where that could still save something worth mentioning."""
    left = result["options"].get("not_tried", ())
    if left and (result["gap"] is None or result["gap"] >= WORTH_TRYING):
        yield (
            f"not tried: {counted(len(left), 'other combination')} of --selection and "
            "--packing (not_tried in plan.json); one may be cheaper"
        )


def moves_sentence(result: Result) -> str:
    """What changes from the plan before."""
    moves, limit = result["moves"], result["max_moves"]
    budget = "" if limit is None else f" (budget {limit:,})"
    verb = "moves" if moves == 1 else "move"
    cost, change, anew = _change_of_cost(result)
    return (
        f"{moves:,} of {counted(result['pairs'], 'pair')} {verb}{budget}, "
        f"{result['added']:,} added, {result['removed']:,} removed; "
        f"{counted(result['brokers_added'], 'broker')} added, "
        f"{result['brokers_removed']:,} removed; "
        f"cost {change}{cost}{anew}"
    )


def _change_of_cost(result: Result) -> tuple[str, str, str]:
    """The cost, and what it was before and would be from scratch, if that is known;
    what differs by rounding only is the same."""
    cost = result["cost"]
    known = {
        key: cost if isclose(result[key], cost) else result[key]
        for key in ("cost_before", "cost_fresh")
        if result[key] is not None
    }
    text, *others = told_apart(dollars, cost, *known.values())
    said = dict(zip(known, others, strict=True))
    before, fresh = said.get("cost_before"), said.get("cost_fresh")
    return (
        text,
        "" if before is None else f"{before} -> ",
        "" if fresh is None else f", from scratch {fresh}",
    )


def comparison(results: Sequence[Result]) -> Table:
    """Plans beside each other, a row each."""
    columns = (
        *("type", "threshold", "brokers", "cost", "a month"),
        *("certified", "gap", "the paper's", "gap", "load"),
    )
    return Table(
        f"Costs and bounds of a period of {_period(results[0])}",
        columns,
        [_row(result) for result in results],
    )


def _row(result: Result) -> tuple[str, ...]:
    first = (fleet_label(result), f"{result['threshold']:,}")
    if not is_plan(result):
        return (*first, result["status"], *[""] * 7)
    return (
        *first,
        f"{result['brokers']:,}",
        dollars(result["cost"]),
        dollars(result["cost_month"]),
        dollars(result["bound"]),
        gap_text(result["gap"]),
        dollars(result["bound_paper"]),
        gap_text(result["gap_paper"]),
        f"{result['load']:,}",
    )


def served(result: Result) -> Iterator[str]:
    """Who gets everything because that is less than the threshold."""
    modest = result["modest"]
    if not modest:
        return
    less = f"less than {result['threshold']:,}"
    if result["own_thresholds"]:
        less = "less than their thresholds"
    who = f"{counted(modest, 'subscriber')} {'wants' if modest == 1 else 'want'} {less}"
    if modest == result["subscribers"]:
        yield f"{'all ' if modest > 1 else ''}{who}: everything is served"
    elif result["pairs"] == result["pairs_wanted"]:
        yield f"{who}; everything is served"
    else:
        yield f"{who}: {'it gets' if modest == 1 else 'they get'} everything"


def _brokers(result: Result) -> str:
    used = [kind for kind in result["types"] if kind["brokers"]]
    number = counted(result["brokers"], "broker")
    if len(used) == 1:
        of = "of " if has_no_name(used[0]) else ""
        return f"{number} {of}{type_label(used[0])}"
    each = ", ".join(f"{kind['brokers']:,} {type_label(kind)}" for kind in used)
    return f"{number} ({each})"


def _closeness(result: Result) -> str:
    if result["gap"] == 0:
        return ", which is the best possible"
    if not result["bound"]:
        return ", with nothing proven about the best possible"
    return f"; {no_cheaper('plan', result)}"


def _period(result: Result) -> str:
    return duration(result["period_seconds"])


def provision_text(result: Result, out: str, report: Path | None) -> str:
    """One sentence, the numbers that carry it, and where the plan is."""
    plans = result.get("plans", [result])
    lines = list(_several(plans) if "plans" in result else _one(result))
    if "steps_left_out" in result:
        lines.append(f"  steps (a) to (e) {result['steps_left_out']}")
    written = [plan for plan in plans if plan["digest"] is not None]
    if written:
        where = out if "plans" not in result else f"{out}/"
        what = "Plan:" if len(plans) == 1 else "Plans:"
        lines.append(f"{what} {where}")
        if report is not None:
            lines.append(f"Report: {report}")
    return "\n".join(lines)


def _one(plan: Result) -> Iterator[str]:
    if not is_plan(plan):
        yield answer(plan)
        return
    if "affordable" in plan:
        yield budget_sentence(plan)
    yield answer(plan)
    if "moves" in plan:
        yield f"  {moves_sentence(plan)}"
    for label, text in number_lines(plan):
        yield f"  {label:<8} {text}"
    for note in (*served(plan), *left_out(plan), *searched(plan)):
        yield f"  {note}"
    yield f"  {plan['algorithm']}, {plan['seconds']['total']:.1f} s"


def _several(plans: Sequence[Result]) -> Iterator[str]:
    yield answer_of_several(plans)
    table = comparison(plans)
    yield from in_columns([table.columns, *table.rows])
    for plan in plans:
        if not is_plan(plan):
            yield f"  {title(plan)}: {answer(plan)}"
            continue
        if "affordable" in plan:
            yield f"  {title(plan)}: {budget_sentence(plan)}"
        for note in (*left_out(plan), *searched(plan)):
            yield f"  {title(plan)}: {note}"
    possible = [plan for plan in plans if is_plan(plan)]
    for said in dict.fromkeys(text for plan in possible for text in served(plan)):
        yield f"  {said}"
    for label, plan in {fleet_label(plan): plan for plan in plans}.items():
        yield f"  {label}: {prices(plan)}"
    algorithms = ", ".join(dict.fromkeys(plan["algorithm"] for plan in plans))
    yield f"  {algorithms}, {plans[0]['seconds']['total']:.1f} s"


def page_of(result: Result) -> Page:
    every = plans_of(result)
    plans = [plan for plan in every if is_plan(plan)]
    one = every[0] if len(every) == 1 else None
    return Page(
        title=f"Plan for {result['workload']}",
        question="What is the cheapest fleet that satisfies every subscriber?",
        answer=_answer(every),
        facts=_facts(one) if one else _facts_of_several(every),
        tables=_tables(every),
        plots=_plots(every, plans),
        inputs=_inputs(result, every),
        data=result,
    )


def plans_of(result: Result) -> Sequence[Result]:
    """The plans of a result: its own, or several."""
    plans: Sequence[Result] = result.get("plans", [result])
    return plans


def _answer(plans: Sequence[Result]) -> str:
    if len(plans) > 1:
        return answer_of_several(plans)
    budget = f" Budget: {budget_sentence(plans[0])}." if "budget" in plans[0] else ""
    return answer(plans[0]) + budget


def _facts(plan: Result) -> list[Fact]:
    facts = [*_cost_facts(plan), *_load_facts(plan)]
    if "moves" in plan:
        moved = moves_sentence(plan)
        facts.append(Fact("Pairs that move", f"{plan['moves']:,}", moved))
    for said in served(plan):
        facts.append(Fact("Below their threshold", f"{plan['modest']:,}", said))
    for said in left_out(plan):
        facts.append(Fact("Topics left out", f"{plan['left_out']:,}", said))
    return facts


def _cost_facts(plan: Result) -> list[Fact]:
    month = f"{dollars(plan['cost_month'])} a month"
    paper = dollars(plan["bound_paper"])
    rent = dollars(plan["cost_brokers"])
    return [
        Fact("Cost of a period", dollars(plan["cost"]), month),
        Fact(
            "Brokers",
            f"{plan['brokers']:,}",
            f"{rent}; the load needs at least {plan['brokers_bound']:,}",
        ),
        Fact(
            "Bandwidth",
            dollars(plan["cost_bandwidth"]),
            f"{plan['incoming']:,} in, {plan['outgoing']:,} out",
        ),
        bound_fact("Certified bound", dollars(plan["bound"]), plan["gap"]),
        bound_fact("The paper's bound", paper, plan["gap_paper"]),
    ]


def _load_facts(plan: Result) -> list[Fact]:
    spending = plan["details"]["spending"]
    cut = spending["cut"]
    full = percent(spending["loads"]["mean"])
    return [
        Fact(
            "Load",
            f"{plan['load']:,}",
            f"at least {plan['load_bound']:,}; brokers are {full} full on average",
        ),
        Fact(
            "Pairs served",
            f"{plan['pairs']:,}",
            f"of {plan['pairs_wanted']:,} that are wanted",
        ),
        Fact(
            "Topics cut across brokers",
            f"{cut['topics']:,}",
            f"of {spending['carried']:,}; to receive them again costs "
            f"{dollars(cut['usd'])}",
        ),
    ]


def _facts_of_several(plans: Sequence[Result]) -> list[Fact]:
    facts = [
        Fact("Subscribers", f"{plans[0]['subscribers']:,}"),
        Fact("Pairs wanted", f"{plans[0]['pairs_wanted']:,}"),
    ]
    modest = {plan["threshold"]: plan for plan in plans if is_plan(plan)}
    for threshold, plan in modest.items():
        label = f"Below threshold {threshold:,}"
        facts += [Fact(label, f"{plan['modest']:,}", said) for said in served(plan)]
    for plan in plans:
        if not is_plan(plan):
            facts.append(Fact(title(plan), plan["status"], plan["reason"]))
            continue
        said = [*left_out(plan), *searched(plan)]
        if "budget" in plan:
            said.insert(0, budget_sentence(plan))
        if said:
            facts.append(Fact(title(plan), dollars(plan["cost"]), "; ".join(said)))
    return facts


def _tables(plans: Sequence[Result]) -> list[Table]:
    if len(plans) > 1:
        return [comparison(plans)]
    return topic_tables(plans[0]["details"]["spending"], plans[0]["cost"])


def _plots(every: Sequence[Result], plans: Sequence[Result]) -> list[Plot]:
    if not plans:
        return []
    return plots_of_one(plans[0]) if len(every) == 1 else plots_of_several(plans)


def _inputs(result: Result, plans: Sequence[Result]) -> list[Fact]:
    first = plans[0]
    facts = [
        Fact("Workload", result["workload"]),
        Fact("Digest of the workload", result["workload_digest"]),
    ]
    for plan in plans:
        if is_plan(plan):
            facts.append(Fact(f"Plan: {title(plan)}", plan["out"], plan["digest"]))
    for label, plan in {fleet_label(plan): plan for plan in plans}.items():
        facts.append(Fact(f"Brokers: {label}", _capacities(plan), prices(plan)))
    rounds = first["options"].get("rounds", 0)
    facts.append(
        Fact(
            "Algorithm",
            f"{first['algorithm']}, seed {first['seed']}",
            "; ".join(
                [
                    f"certified bound after {counted(rounds, 'round')} of ascent",
                    *searched(first),
                ]
            ),
        )
    )
    if "steps_left_out" in result:
        facts.append(Fact("Steps", result["steps_left_out"]))
    return [*facts, *how_to_repeat(result)]


def _capacities(plan: Result) -> str:
    texts = []
    for kind in plan["types"]:
        limit = "" if kind["limit"] is None else f", at most {kind['limit']:,} of them"
        texts.append(f"{kind['type']} carries {kind['capacity']:,} a period{limit}")
    return "; ".join(texts)
