"""Networks, and overlays that wire their users to brokers."""

from typing import TYPE_CHECKING, Any

from brokerwise.api.callers import Path, place_of
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.plan import WITHOUT_PLAN
from brokerwise.storage import network as network_storage
from brokerwise.storage import overlay_plan as overlay_storage
from brokerwise.storage.plan import HEADER

if TYPE_CHECKING:
    from brokerwise.pipeline.overlay import SavableOverlayPlan


def read_network(directory: Path) -> Network:
    """A whole network in memory, its digest checked."""
    return network_storage.read_network(place_of(directory))


def write_network(network: Network, directory: Path, *, force: bool = False) -> str:
    """Write a network; returns its digest."""
    place = place_of(directory)
    return network_storage.write_network(network, place, force=force).digest


def generate_network(
    *, users: int, brokers: int, seed: int = 0, **settings: Any
) -> Network:
    """A random network; the same as `generate network` makes.

    Settings are `subchannels`, `dimensions`, `costs` ("plane" or "independent"),
    `ratio`, `width`, `capacity_factor`, `known` and `latency`, an array.
    """
    from brokerwise.pipeline.networks.generate import NetworkSettings, generate

    return generate(NetworkSettings(users, brokers, **settings), seed)


def read_overlay_plan(directory: Path) -> OverlayPlan:
    """A whole overlay plan in memory, its digest checked."""
    return overlay_storage.read_overlay_plan(place_of(directory))


def overlay(
    network: Network | Path,
    *,
    algorithm: str = "local",
    tree: bool = False,
    seed: int = 0,
    seconds: float | None = None,
    out: Path | None = None,
    force: bool = False,
) -> "SavableOverlayPlan":
    """The broker that each user should connect to, so that links cost least.

    Costs of a plan, as objective, bound and figures, are whole thousandths of the
    network's unit. With `out` the plan is audited and written there. An infeasible
    problem is an answer: see the plan's `status` and `reason`. All of it happens in
    this process, without Spark.
    """
    from brokerwise.pipeline.overlay import overlay_in_memory
    from brokerwise.pipeline.progress import deadline
    from brokerwise.planners.overlay.problem import Options
    from brokerwise.storage.output import Output

    options = Options(algorithm, tree, seed, deadline(seconds))
    if out is not None:  # what may not be replaced should not wait for the plan
        Output.begin(place_of(out), HEADER, force=force).abort()
    place = None if isinstance(network, Network) else place_of(network)
    read = network if isinstance(network, Network) else read_network(network)
    plan = overlay_in_memory(read, place, options)
    if out is not None and plan.status not in WITHOUT_PLAN:
        plan.save(out, force=force)
    return plan
