"""Can it be had for so much? The decision form of the problem (DCSS)."""

from enum import StrEnum

from brokerwise.model.errors import InputError
from brokerwise.model.plan import Plan, Status
from brokerwise.model.units import checked_price


class Answer(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


def affordable(plan: Plan, budget_usd: float) -> Answer:
    """Yes if the plan costs no more than the budget, no if its bound does, else
    unknown: a better plan than this one may exist, or one though none was found."""
    budget_usd = checked_price(budget_usd, "budget")
    if plan.status is Status.UNKNOWN:
        return Answer.UNKNOWN
    if plan.objective is None or plan.bound is None:
        raise InputError("budget: an infeasible problem has no cost")
    if plan.objective <= budget_usd:
        return Answer.YES
    return Answer.NO if plan.bound > budget_usd else Answer.UNKNOWN
