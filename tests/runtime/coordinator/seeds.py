"""What fleets of tests start from."""

from collections.abc import Callable

from brokerwise.runtime.process.state_file import Sql
from brokerwise.runtime.protocol.fleet import Axis, Branch, OverlayPart
from brokerwise.runtime.protocol.seed import Seed, SeedBroker, SeedSession

States = Callable[[Seed], Sql]
PLANNED = Seed(
    (SeedBroker("b0", capacity=500), SeedBroker("b1", capacity=300)),
    "plan",
    kind="provision",
    plan="out/plan",
    digest="abc",
    sessions=(
        SeedSession("ann", "b0", ("news", "sport")),
        SeedSession("ann", "b1", ("art",)),
        SeedSession("ben", "b1", ("art",)),
    ),
    rates={"news": 10, "sport": 5, "art": 1},
    steps={"news": "spin:5"},
    period_seconds=60,
)
PART = OverlayPart(
    (Axis("x", (0.0, 0.5, 1.0)),), (Branch("b0", "subchannel/0", ("b1",)),)
)
OVERLAY = Seed(
    (SeedBroker("b0"), SeedBroker("b1")),
    "plan",
    kind="overlay",
    sessions=(SeedSession("ann", "b0", ("subchannel/0",)),),
    rates={"subchannel/0": 3},
    overlay={"b0": PART, "b1": PART},
)
SHARED = Seed(
    tuple(SeedBroker(f"b{i}", capacity=c) for i, c in enumerate((500, 500, 100))),
    "plan",
    kind="fill",
    sessions=(
        SeedSession("ann", "b0", ("news",)),
        SeedSession("ben", "b0", ("sport",)),
        SeedSession("ben", "b1", ("art",)),
        SeedSession("cid", "b1", ("news",)),
    ),
    rates={"news": 10, "sport": 5, "art": 1},
)
COLOCATED = Seed(
    tuple(SeedBroker(f"b{i}") for i in range(3)),
    "plan",
    kind="colocate",
    rates={"news": 10, "sport": 5, "art": 1},
    homes={"news": "b0", "sport": "b1", "art": "b0"},
    targets={"news": 250.0, "sport": 250.0, "art": 100.0},
    steps={"news": "spin:5"},
    period_seconds=60,
)
