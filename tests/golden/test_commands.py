"""What commands answer with --json, and their exit codes."""

import json
from typing import Any

import pytest
from tests.golden.conftest import Tour
from tests.golden.forms import shape
from tests.golden.golden import compare
from tests.processes import Process

pytestmark = [pytest.mark.xdist_group("golden"), pytest.mark.live]


def test_commands_on_a_fleet(tour: Tour) -> None:
    compare("commands", tour.commands)


def test_commands_at_the_end_of_a_fleet_and_without_one(tour: Tour) -> None:
    compare("last_commands", tour.last_commands)


def test_commands_on_a_fleet_that_runs_a_plan(planned: dict[str, Any]) -> None:
    compare("planned_commands", planned)


def test_commands_on_a_fleet_that_runs_an_overlay(overlay: dict[str, Any]) -> None:
    compare("overlay_commands", overlay)


def test_up_until_it_is_told_to_end(tour: Tour, fresh: Process) -> None:
    ready = json.loads(fresh.line_with('"ready"'))
    fresh.terminate()
    compare("up_command", {"exit code": fresh.wait(60), "json": shape(ready)})
