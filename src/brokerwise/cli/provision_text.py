"""What `brokerwise provision` says on the screen."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from brokerwise.cli.printable import printable
from brokerwise.cli.provision_request import Request


def provision_text(result: Mapping[str, Any], request: Request) -> str:
    """One sentence, the numbers that carry it, and where the plan is."""
    plans = result.get("plans", [result])
    lines = list(_several(plans) if "plans" in result else _one(result))
    if "steps_left_out" in result:
        lines.append(f"  steps (a) to (e) {result['steps_left_out']}")
    written = [plan for plan in plans if plan["digest"] is not None]
    if written:
        where = request.out if "plans" not in result else f"{request.out}/"
        what = "Plan:" if len(plans) == 1 else "Plans:"
        lines.append(f"{what} {where}")
        if request.report is not None:
            lines.append(f"Report: {request.report}")
    return printable("\n".join(lines))


def _one(plan: Mapping[str, Any]) -> Iterator[str]:
    from brokerwise.report.provision_sentences import (
        answer,
        budget_sentence,
        is_plan,
        left_out,
        moves_sentence,
        number_lines,
        served,
        stopped,
        tried,
        untried,
    )

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
    for note in (
        *served(plan),
        *left_out(plan),
        *tried(plan),
        *stopped(plan),
        *untried(plan),
    ):
        yield f"  {note}"
    yield f"  {plan['algorithm']}, {plan['seconds']['total']:.1f} s"


def _several(plans: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    from brokerwise.report.provision_sentences import (
        answer,
        answer_of_several,
        budget_sentence,
        comparison,
        fleet_label,
        is_plan,
        left_out,
        prices,
        served,
        stopped,
        title,
        tried,
        untried,
    )

    yield answer_of_several(plans)
    table = comparison(plans)
    yield from _aligned([table.columns, *table.rows])
    for plan in plans:
        if not is_plan(plan):
            yield f"  {title(plan)}: {answer(plan)}"
            continue
        if "affordable" in plan:
            yield f"  {title(plan)}: {budget_sentence(plan)}"
        for note in (*left_out(plan), *tried(plan), *stopped(plan), *untried(plan)):
            yield f"  {title(plan)}: {note}"
    possible = [plan for plan in plans if is_plan(plan)]
    for said in dict.fromkeys(text for plan in possible for text in served(plan)):
        yield f"  {said}"
    for label, plan in {fleet_label(plan): plan for plan in plans}.items():
        yield f"  {label}: {prices(plan)}"
    algorithms = ", ".join(dict.fromkeys(plan["algorithm"] for plan in plans))
    yield f"  {algorithms}, {plans[0]['seconds']['total']:.1f} s"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The type to the left, numbers to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.ljust(width) if column == 0 else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield f"  {'   '.join(cells)}".rstrip()
