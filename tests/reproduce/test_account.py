"""What is said of an experiment is put together in one way for all papers."""

from typing import Any

import pytest

from brokerwise.reproduce.account import (
    Account,
    Block,
    Claim,
    Judged,
    MissingError,
    Result,
    Said,
    Section,
    claim_words,
    claims_held,
    claims_said,
    claims_table,
    column,
    counted_if,
    judged,
    page,
    summary,
    table,
    text,
    verdict,
)
from brokerwise.show.tables import Fact, Table

RESULT = {
    "kind": "reproduce x",
    "problems": ["broker 0 carries 61 of 60"],
    "seed": 3,
    "command": "brokerwise reproduce x",
    "version": "1",
}
ROWS = Table("Loads", ("broker", "load"), [("0", "61")])


def account(**fields: Any) -> Account:
    parts: dict[str, Any] = {
        "result": RESULT,
        "question": "Is it so?",
        "answer": "It is.",
        "verdict": "1 run: 1 check failed (loads).",
        "said": [
            Said(["One.", "Two."]),
            Said(["Three."], "paragraphs"),
            Said(["Four."], "terminal"),
        ],
        "blocks": [Block([ROWS], ["A heading"])],
        "sections": [Section("Tables", ["First."], [ROWS], ["Last."])],
        "tables": [ROWS],
        "plots": [],
        "facts": [Fact("Claims", "1 of 2")],
        "inputs": [Fact("Runs", "1")],
    }
    return Account(**parts | fields)


def test_the_terminal_shows_tables_then_all_that_is_said() -> None:
    assert text(account()).splitlines() == [
        *("It is.", "", "A heading", "Loads", "  broker   load", "  0          61", ""),
        *("One.", "Two.", "Three.", "Four.", "1 run: 1 check failed (loads)."),
        "  failed: broker 0 carries 61 of 60",
    ]


def test_the_summary_lists_what_belongs_together() -> None:
    assert summary(account()).splitlines() == [
        *("# Reproduced: x", "", "It is.", ""),
        *("Made by `brokerwise reproduce x`, version 1.", ""),
        *("- One.", "- Two.", "", "Three.", ""),
        *("1 run: 1 check failed (loads).", "  failed: broker 0 carries 61 of 60", ""),
        *("## Tables", "", "First.", "", "Loads:", ""),
        *("| broker | load |", "| --- | ---: |", "| 0 | 61 |", "", "Last."),
    ]


def test_the_page_begins_with_checks_and_ends_with_how_to_repeat_it() -> None:
    made = page(account())
    assert [(fact.label, fact.value) for fact in made.facts] == [
        ("Checks", "1 failed"),
        ("Claims", "1 of 2"),
    ]
    labels = [fact.label for fact in made.inputs]
    assert labels == ["Seed", "Runs", "Command", "Brokerwise"]
    assert (
        page(account(result=RESULT | {"problems": []})).facts[0].value == "all passed"
    )


def test_a_verdict_says_what_is_missing_and_what_is_old() -> None:
    fine = RESULT | {"problems": []}
    assert verdict(fine, "3 runs", "loads") == "3 runs: all checks passed (loads)."
    some = {"missing": counted_if(2, "run", " not run"), "outdated": counted_if(0, "x")}
    assert verdict(RESULT, "1 run", "loads", **some) == (
        "1 run: 1 check failed (loads). Not complete: 2 runs not run yet; the same "
        "command goes on."
    )


def test_a_table_has_a_column_for_each_way_to_see_a_row() -> None:
    runs: list[Result] = [{"at": 1, "moves": 1204}, {"at": 2, "moves": None}]
    columns = [("run", lambda run: f"b{run['at']}"), column("moves", "moves")]
    made = table("Runs", columns, runs)
    assert made == Table("Runs", ("run", "moves"), [("b1", "1,204"), ("b2", "-")])


def _low(value: int | None) -> Judged:
    if value is None:
        raise MissingError("value")
    return value < 3, f"{value}"


CLAIMS = (Claim("5", "it is low", _low),)


@pytest.mark.parametrize(
    ("value", "holds", "ours", "shown"),
    [(1, True, "1", "yes"), (5, False, "5", "no"), (None, None, "not run yet", None)],
)
def test_a_claim_holds_or_not_or_was_not_run_yet(
    value: int | None, holds: bool | None, ours: str, shown: str | None
) -> None:
    found = judged(CLAIMS, value)
    assert found == [
        {"figures": "5", "paper": "it is low", "holds": holds, "ours": ours}
    ]
    row = claims_table("Claims", found).rows[0]
    assert row == ("5", "it is low", ours, shown or "not run yet")
    known = holds is not None
    assert claims_held(found) == (int(bool(holds)), int(known))
    assert bool(claims_said(found).sentences) == bool(list(claim_words(found))) == known


def test_claims_are_said_with_our_figures() -> None:
    found = judged(CLAIMS, 5)
    assert claims_said(found, "Figure ").sentences == [
        "Figure 5: it is low: not so in ours (5)."
    ]
    assert list(claim_words(found)) == [
        "0 of 1 things that the paper says are so in ours."
    ]
