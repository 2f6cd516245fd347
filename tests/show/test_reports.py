"""Every kind of report is made of the JSON of its result, and of nothing else."""

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.show.reading import Reader
from tests.show.samples import EVERY_REPORT, SAMPLES

from brokerwise.model.errors import InputError
from brokerwise.show.page import render_page
from brokerwise.show.reports import page_of, render, result_in

EVERY = pytest.mark.parametrize("name", SAMPLES)


def test_every_kind_has_a_sample() -> None:
    assert {sample()["kind"] for sample in SAMPLES.values()} == set(EVERY_REPORT)


@EVERY
def test_json_makes_a_report_that_makes_the_same_report(name: str) -> None:
    result = SAMPLES[name]()
    page = render(result, EVERY_REPORT)
    printed = json.dumps(result, ensure_ascii=False).encode()
    for kept in (printed, page.encode()):
        held = result_in(kept, "r")
        assert render_page(page_of(held, "r", EVERY_REPORT)) == page
    assert result_in(page.encode(), "r") == json.loads(printed)
    assert len(page.encode()) < 2_000_000


@EVERY
def test_it_says_the_answer_first_and_how_to_repeat_it_last(name: str) -> None:
    result = SAMPLES[name]()
    reader = Reader(render(result, EVERY_REPORT))
    parts = [reader.text.index(part) for part in ("Numbers", "Plots", "Inputs, and")]
    assert parts == sorted(parts)
    page = page_of(result, "r", EVERY_REPORT)
    assert page.question.endswith("?")
    assert page.answer and "\n" not in page.answer
    labels = [fact.label for fact in page.inputs]
    assert labels.count("Command") == labels.count("Brokerwise") == 1
    assert result["command"] in reader.text
    assert all(plot.caption.endswith((".", ")")) for plot in page.plots)
    tables = sum(tag == "table" for tag, _ in reader.elements)
    assert tables >= len(page.tables) + len(reader.data("plots"))


def test_what_reproduce_prints_besides_its_results_changes_nothing() -> None:
    result = SAMPLES["reproduce fill"]()
    printed = {**result, "out": "elsewhere", "seconds": {"total": 9.0}}
    assert render(printed, EVERY_REPORT) == render(result, EVERY_REPORT)


def test_text_that_is_no_unicode_comes_back() -> None:
    result = {**SAMPLES["fill"](), "workload": "w\udcff"}
    page = render(result).encode(errors="backslashreplace")
    held = result_in(page, "r")
    assert held["workload"] == "w\udcff"
    assert render(held).encode(errors="backslashreplace") == page


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "neither JSON nor a report"),
        (b"status: fine", "neither JSON nor a report"),
        (b"\xff\xfe\x00", "neither JSON nor a report"),
        (b"[" * 100_000, "neither JSON nor a report"),
        (b"[1]", "found a list, expected a JSON object"),
        (b"<!doctype html><p>Hello", "a page that holds no result"),
    ],
)
def test_what_holds_no_result_is_refused(content: bytes, problem: str) -> None:
    with pytest.raises(InputError, match=f"^file.x: {problem}"):
        result_in(content, "file.x")


@pytest.mark.parametrize(
    ("kind", "found"),
    [(None, "no kind"), ("party", "kind 'party'"), (["fill"], re.escape("kind ['f"))],
)
def test_a_kind_without_a_report_is_refused(kind: Any, found: str) -> None:
    with pytest.raises(InputError, match=f"^r: found {found}") as caught:
        page_of({"kind": kind}, "r")
    assert "profile, provision, fill" in caught.value.hint


@pytest.mark.parametrize(
    ("name", "path", "field"),
    [
        ("fill", ("wanted",), "wanted"),
        ("fill", ("details", "topics", "whole"), "details.topics.whole"),
        ("provision, several", ("plans", 1, "cost"), "plans[1].cost"),
        ("moves decision", ("proposal", "brokers", 0, "load"), "proposal.brokers[0].l"),
        ("reproduce fill", ("cells", 0, "columns", "optimal"), "cells[0].columns.opt"),
    ],
)
def test_a_missing_field_is_named(
    name: str, path: tuple[str | int, ...], field: str
) -> None:
    result: Any = json.loads(json.dumps(SAMPLES[name]()))
    *way, last = path
    holder = result
    for step in way:
        holder = holder[step]
    del holder[last]
    with pytest.raises(InputError, match=re.escape(f"r: the field '{field}")):
        page_of(result, "r", EVERY_REPORT)


SPOILS: tuple[Any, ...] = (None, "x", {})


def fields(result: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for key, value in result.items():
        yield (*path, key)
        if isinstance(value, dict):
            yield from fields(value, (*path, key))


@pytest.mark.parametrize("name", ["fill", "moves"])
def test_whatever_is_missing_or_of_another_type_nothing_worse_happens(
    name: str,
) -> None:
    whole = json.loads(json.dumps(SAMPLES[name]()))
    for path in fields(whole):
        for spoil in SPOILS:
            spoiled = copy.deepcopy(whole)
            holder = spoiled
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = spoil
            try:
                page_of(spoiled, "r", EVERY_REPORT)
            except InputError as error:
                assert str(error).startswith("r: ")


def test_other_versions_are_a_hint() -> None:
    result = {"kind": "fill", "version": "0.0.1"}
    with pytest.raises(InputError) as caught:
        page_of(result, "r", EVERY_REPORT)
    assert "made by brokerwise 0.0.1" in caught.value.hint


def test_what_is_infeasible_has_no_report() -> None:
    one = {"kind": "overlay", "status": "infeasible", "reason": "too little room"}
    with pytest.raises(InputError, match="no plan to report on: too little room"):
        page_of(one, "r")
    with pytest.raises(InputError, match="no plan to report on: too little room"):
        page_of({"kind": "provision", "plans": [one, one]}, "r")
