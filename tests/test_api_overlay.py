"""The Python API of networks and overlays gives what the command line gives."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import brokerwise
from brokerwise.cli.main import run


def network_of(**settings: Any) -> brokerwise.Network:
    asked = {"users": 40, "brokers": 4, "subchannels": 10, "width": 0.3, "seed": 2}
    return brokerwise.generate_network(**asked | settings)


def test_a_network_goes_to_disk_and_back(tmp_path: Path) -> None:
    network = network_of(known=3)
    brokerwise.write_network(network, tmp_path / "n")
    again = brokerwise.read_network(tmp_path / "n")
    assert repr(again) == "Network(40 users, 4 brokers, 10 sub-channels)"
    assert np.array_equal(again.access, network.access)
    with pytest.raises(brokerwise.InputError, match="exists already"):
        brokerwise.write_network(network, tmp_path / "n")


def test_the_same_seed_gives_the_same_network() -> None:
    first, again, other = network_of(), network_of(), network_of(seed=3)
    assert np.array_equal(first.access, again.access)
    assert not np.array_equal(first.access, other.access)


def test_the_plan_is_the_one_that_the_command_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    brokerwise.write_network(network_of(), tmp_path / "n")
    plan = brokerwise.overlay(tmp_path / "n", seed=5)
    digest = plan.save(tmp_path / "mine")
    call = ["overlay", str(tmp_path / "n"), "--seed", "5", "--json"]
    assert run([*call, "--out", str(tmp_path / "theirs")]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["digest"] == digest
    assert result["objective"] == (plan.objective or 0) / 1000
    assert (plan.cost, plan.crr) == (plan.objective, result["crr"])
    assert brokerwise.audit(tmp_path / "mine") == []
    read = brokerwise.read_overlay_plan(tmp_path / "mine")
    assert np.array_equal(read.broker, plan.broker)
    assert dict(read.figures) == dict(plan.figures)


def test_out_writes_the_plan_and_is_refused_before_any_work(tmp_path: Path) -> None:
    network = network_of()
    plan = brokerwise.overlay(network, algorithm="greedy", out=tmp_path / "p")
    assert brokerwise.audit(plan) == []
    assert (tmp_path / "p" / "plan.json").exists()
    with pytest.raises(brokerwise.InputError, match="exists already"):
        brokerwise.overlay(network, algorithm="greedy", out=tmp_path / "p")
    again = brokerwise.overlay(
        network, algorithm="greedy", out=tmp_path / "p", force=True
    )
    assert again.objective == plan.objective


def test_a_plan_of_a_network_in_memory_is_audited_with_it(tmp_path: Path) -> None:
    network = network_of()
    brokerwise.overlay(network, algorithm="greedy", out=tmp_path / "p")
    with pytest.raises(brokerwise.InputError, match="is not where it says"):
        brokerwise.audit(tmp_path / "p")
    brokerwise.write_network(network, tmp_path / "n")
    assert brokerwise.audit(tmp_path / "p", network=tmp_path / "n") == []
    read = brokerwise.read_overlay_plan(tmp_path / "p")
    assert brokerwise.audit(read, network=network) == []


def test_an_audit_needs_the_right_thing(tmp_path: Path) -> None:
    network = network_of()
    plan = brokerwise.overlay(network, algorithm="greedy", out=tmp_path / "p")
    read = brokerwise.read_overlay_plan(tmp_path / "p")
    with pytest.raises(brokerwise.InputError, match="against a Network in memory"):
        brokerwise.audit(read)
    with pytest.raises(brokerwise.InputError, match="against a network directory"):
        brokerwise.audit(tmp_path / "p", network=network)
    with pytest.raises(brokerwise.InputError, match="against a network, other plans"):
        brokerwise.audit(plan, tmp_path)


def test_a_wrong_plan_is_not_saved(tmp_path: Path) -> None:
    network = network_of()
    plan = brokerwise.overlay(network, algorithm="greedy")
    wrong = replace(plan, objective=(plan.objective or 0) + 1)
    with pytest.raises(brokerwise.BrokerwiseError, match="nothing was written") as told:
        wrong.save(tmp_path / "p")
    assert any("objective" in line for line in told.value.details)
    assert not (tmp_path / "p").exists()
    assert brokerwise.audit(wrong)
    lost = replace(plan, network=None)
    with pytest.raises(brokerwise.InputError, match="does not know its network"):
        lost.save(tmp_path / "p")


def test_infeasible_is_an_answer_that_cannot_be_saved(tmp_path: Path) -> None:
    network = replace(network_of(), capacity=np.full(4, 1))
    plan = brokerwise.overlay(network, out=tmp_path / "p")
    assert plan.status is brokerwise.Status.INFEASIBLE
    assert (plan.objective, plan.gap) == (None, None)
    assert "4" in plan.reason
    assert not (tmp_path / "p").exists()
    with pytest.raises(brokerwise.InputError, match="there is no plan to save"):
        plan.save(tmp_path / "p")


def test_figures_are_attributes() -> None:
    plan = brokerwise.overlay(network_of(), algorithm="greedy", tree=True)
    assert plan.access + plan.core == plan.cost == plan.objective
    with pytest.raises(AttributeError, match="this overlay plan has no 'delivered'"):
        plan.delivered  # noqa: B018


def test_wrong_options_are_named() -> None:
    with pytest.raises(brokerwise.InputError, match="algorithm: found 'best'"):
        brokerwise.overlay(network_of(), algorithm="best")
    with pytest.raises(brokerwise.InputError, match="seconds: found 0"):
        brokerwise.overlay(network_of(), seconds=0)
    with pytest.raises(brokerwise.InputError, match="users: found 0"):
        network_of(users=0)
