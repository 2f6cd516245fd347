"""The report of provisioning, from what `brokerwise provision --json` prints and the
details of each plan."""

from collections.abc import Sequence

from brokerwise.report.html import Fact, Table
from brokerwise.report.numbers import counted, dollars, percent
from brokerwise.report.page import Page
from brokerwise.report.plots import Plot
from brokerwise.report.provision_comparison import plots_of_several
from brokerwise.report.provision_plots import plots_of_one, topic_tables
from brokerwise.report.provision_sentences import (
    Result,
    answer,
    answer_of_several,
    budget_sentence,
    comparison,
    fleet_label,
    gap_text,
    is_plan,
    left_out,
    moves_sentence,
    prices,
    served,
    stopped,
    title,
    tried,
    untried,
)
from brokerwise.report.repeating import how_to_repeat


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
        Fact("Certified bound", dollars(plan["bound"]), f"gap {gap_text(plan['gap'])}"),
        Fact("The paper's bound", paper, f"gap {gap_text(plan['gap_paper'])}"),
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
        said = [*left_out(plan), *tried(plan), *stopped(plan), *untried(plan)]
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
                    *tried(first),
                    *stopped(first),
                    *untried(first),
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
