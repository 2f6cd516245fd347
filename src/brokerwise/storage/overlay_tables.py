"""The tables of a plan of kind overlay."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from brokerwise.model.arrays import Float64s
from brokerwise.model.errors import InputError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.subchannels import Subchannels
from brokerwise.storage.tables import table_of

USERS = pa.schema([("user", pa.int32()), ("broker", pa.int32())])
BROKERS = pa.schema(
    [
        ("broker", pa.int32()),
        ("name", pa.string()),
        ("capacity", pa.int64()),
        ("load", pa.int64()),
        ("users", pa.int64()),
    ]
)
TREES = pa.schema(
    [
        ("source", pa.int32()),
        ("subchannel", pa.int32()),
        ("from", pa.int32()),
        ("to", pa.int32()),
    ]
)


def subchannels_schema(attributes: Sequence[str]) -> pa.Schema:
    ends = [f"{name}_{end}" for name in attributes for end in ("low", "high")]
    columns = [("subchannel", pa.int32()), *((end, pa.float64()) for end in ends)]
    return pa.schema(columns)


def overlay_tables(plan: OverlayPlan, network: Network) -> dict[str, pa.Table]:
    """All of a plan's tables; without a plan no user has a broker."""
    _check_fits(plan, network)
    return {
        "users": table_of([np.arange(len(plan.broker)), plan.broker], USERS),
        "brokers": _brokers(plan, network),
        "trees": table_of(
            [
                plan.trees.source,
                plan.trees.subchannel,
                plan.trees.parent,
                plan.trees.child,
            ],
            TREES,
        ),
        "subchannels": _subchannels(network.subchannels),
    }


def _check_fits(plan: OverlayPlan, network: Network) -> None:
    """Refuse a plan that was made for another network."""
    homes, users, brokers = plan.broker, network.users, network.brokers
    if plan.objective is not None and len(homes) != users:
        raise InputError(
            f"overlay plan: found {len(homes):,} users, expected {users:,}"
        )
    if len(homes) and not 0 <= homes.min() <= homes.max() < brokers:
        wrong = homes.min() if homes.min() < 0 else homes.max()
        raise InputError(
            f"overlay plan: found broker {wrong:,}, expected from 0 to {brokers - 1:,}"
        )
    if len(plan.load) not in (0, brokers):
        raise InputError(
            f"overlay plan: found loads of {len(plan.load):,} brokers, "
            f"expected {brokers:,}"
        )


def bounds_of(subchannels: Subchannels) -> list[Float64s]:
    """For each attribute the lower, then the upper bound of each sub-channel."""
    cells = np.unravel_index(np.arange(len(subchannels)), subchannels.shape)
    bounds = []
    for axis, interval in zip(subchannels.axes, cells, strict=True):
        edges = np.asarray(axis.edges)
        bounds += [edges[interval], edges[interval + 1]]
    return bounds


def _brokers(plan: OverlayPlan, network: Network) -> pa.Table:
    load = plan.load if len(plan.load) else np.zeros(network.brokers, np.int64)
    return table_of(
        [
            np.arange(network.brokers),
            network.broker_names.to_arrow(),
            network.capacity,
            load,
            np.bincount(plan.broker, minlength=network.brokers),
        ],
        BROKERS,
    )


def _subchannels(subchannels: Subchannels) -> pa.Table:
    attributes = [axis.attribute for axis in subchannels.axes]
    columns = [np.arange(len(subchannels)), *bounds_of(subchannels)]
    return table_of(columns, subchannels_schema(attributes))
