"""Fleets that are only computed: how even loads stay over time."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from brokerwise.runtime.simulation.result import SimulationResult
    from brokerwise.runtime.simulation.world import World


def simulate_balance(
    world: "World | None" = None,
    *,
    brokers: int = 10,
    subscribers: int = 10_000,
    topics: int = 1_000,
    minutes: float = 30.0,
    placement: str = "nearest",
    policy: str = "planned",
    alpha: float = 0.1,
    beta: float = 0.0,
    gamma: float = 0.5,
    theta: float = 0.0,
    max_moves: int | None = None,
    hourly_moves: int | None = None,
    hot: float | None = None,
    report_seconds: float = 10.0,
    delay: int = 0,
    noise: float = 0.0,
    window_seconds: float = 300.0,
    confirm: int = 2,
    seed: int = 0,
) -> "SimulationResult":
    """Run the balancer on a fleet that is only computed, as `simulate balance` does.

    Without a `world`, which then says how large it is and for how long it goes on, it
    is the simulation of Nguyen et al. `beta` and `theta` are bytes a second. The same
    arguments give the same result.
    """
    from brokerwise.planners.balance.problem import Options
    from brokerwise.runtime.balancing.balancer import BalancerSettings
    from brokerwise.runtime.simulation.paper import Paper, paper_world
    from brokerwise.runtime.simulation.simulator import SimulationOptions, simulate

    if world is None:
        world = paper_world(Paper(brokers, subscribers, topics, 60 * minutes), seed)
    options = Options(
        policy=policy,
        alpha=alpha,
        beta=beta * world.period_seconds,
        gamma=gamma,
        theta=theta * world.period_seconds,
        max_moves=max_moves,
        hot=hot,
    )
    settings = SimulationOptions(
        placement=placement,
        balancing=BalancerSettings(options, window_seconds, confirm, hourly_moves),
        report_seconds=report_seconds,
        delay=delay,
        noise=noise,
        seed=seed,
    )
    return simulate(world, settings)
