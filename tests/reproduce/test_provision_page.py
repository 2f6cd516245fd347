"""What `reproduce provision` says of run times."""

from tests.show.samples import reproduce_provision

from brokerwise.reproduce.account import summary, text
from brokerwise.reproduce.provision_page import account, times


def test_run_times_stand_beside_what_the_paper_says_of_them() -> None:
    """Of both stages, also where ours is the other way round."""
    found = reproduce_provision()
    rows = {row["name"]: row for row in found["traces"][0]["cells"][0]["rows"]}
    (cell,) = [{**found["traces"][0]["cells"][0], "rows": list(rows.values())}]
    for name, seconds in (("(a)", 6.0), ("(e)", 0.25)):
        rows[name] = {**rows[name], "seconds": seconds}
    cell["rows"] = list(rows.values())
    trace = {**found["traces"][0], "title": "Twitter-shaped", "cells": [cell]}
    selection, packing = times({**found, "traces": [trace]})
    assert "RSP) faster than greedy (GSP). Here random is slower in 2 of 2" in selection
    assert "(4 to 4 times as long)" in selection
    assert packing == (
        "Stage 2, Twitter-shaped: custom packing (CBP) is 24 to 24 times faster than "
        "first-fit (FFBP), where the paper has up to 1,000 times."
    )
    said = {**found, "traces": [trace]}
    assert all(
        packing in shown for shown in (summary(account(said)), text(account(said)))
    )


def test_nothing_is_said_of_traces_that_the_paper_has_not() -> None:
    found = reproduce_provision()
    trace = {**found["traces"][0], "published": None}
    assert times({**found, "traces": [trace]}) == []
