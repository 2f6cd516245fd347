"""The audit of a plan of kind overlay, on numpy arrays and without Spark."""

from collections.abc import Iterator

import numpy as np

from brokerwise.auditing.findings import OverlayAudit, Violation, in_order, named
from brokerwise.auditing.overlay_claims import (
    OverlayClaims,
    claims_of_plan,
    claims_on_disk,
)
from brokerwise.auditing.overlay_judgement import Judge
from brokerwise.auditing.overlay_recount import recounted
from brokerwise.auditing.overlay_trees import Comparison, Grown, Needed
from brokerwise.model.errors import DigestMismatchError, InputError, MissingBasisError
from brokerwise.model.network import Network
from brokerwise.model.overlay import OverlayPlan
from brokerwise.model.subchannels import Subchannels
from brokerwise.storage.network import network_digest, read_network
from brokerwise.storage.overlay_plan import (
    OverlayHeader,
    OverlayTables,
    read_overlay_header,
    read_overlay_tables,
)
from brokerwise.storage.place import Place


def overlay_violations(plan: OverlayPlan, network: Network) -> list[Violation]:
    """All that is wrong with a plan; the first few of each check are named.

    Shares no code with planners and believes nothing that the plan says. Costs
    O(brokers^2) for each tree, and a few arrays of the length of the trees.
    """
    return _judge(claims_of_plan(plan), network).violations()


def audit_overlay_directory(plan: Place, network: Place | None = None) -> OverlayAudit:
    """Audit a plan directory against its network, all of it in memory.

    `network` is where the plan says unless given. Raises InputError for a directory
    or a file that cannot be used, DigestMismatchError for a network that is not the
    plan's or has changed.
    """
    header = read_overlay_header(plan)
    return audit_staged_overlay(plan, header, _network(plan, header, network))


def audit_staged_overlay(
    place: Place, header: OverlayHeader, network: Network
) -> OverlayAudit:
    """Audit a plan that is written, whether its plan.json, `header`, is or not.

    So a plan can be audited before it appears. Raises DigestMismatchError for a
    network that is not the plan's.
    """
    digest, stated = network_digest(network), header.network["digest"]
    if digest != stated:
        raise DigestMismatchError("the network", digest, stated)
    tables = read_overlay_tables(place, header)
    judge = _judge(claims_on_disk(header, tables), network)
    truth = judge.truth()
    found = [
        *named("digest", _changed(header, tables)),
        *named("subchannels", _wrong_bounds(header, tables, network.subchannels)),
        *judge.violations(),
    ]
    return OverlayAudit(
        digest=header.digest,
        violations=tuple(in_order(found)),
        users=network.users,
        brokers=truth.brokers,
        subchannels=len(network.subchannels),
        links=len(judge.claims.trees),
        load=truth.load,
        access=truth.access,
        core=truth.core,
    )


def _judge(claims: OverlayClaims, network: Network) -> Judge:
    recount = recounted(claims, network)
    found = Grown.of(claims.trees, network)
    trees = Comparison(Needed.of(recount), found, network.core, claims.tree)
    return Judge(claims, recount, trees, network)


def _network(plan: Place, header: OverlayHeader, given: Place | None) -> Network:
    if given is not None:
        return read_network(given)
    try:
        return read_network(Place(header.network["path"]))
    except DigestMismatchError:
        raise
    except InputError as cause:
        path = header.network["path"]
        raise MissingBasisError(str(plan), "network", path, cause.message) from cause


def _changed(header: OverlayHeader, tables: OverlayTables) -> Iterator[str]:
    """Tables that are not those that plan.json was written for."""
    for table, digest in tables.digests().items():
        stated = header.digests[table]
        if digest != stated:
            yield f"{table} has digest {digest[:12]}, plan.json says {stated[:12]}"
    if header.content_digest() != header.digest:
        yield (
            f"the plan has digest {header.content_digest()[:12]}, "
            f"plan.json says {header.digest[:12]}"
        )


def _wrong_bounds(
    header: OverlayHeader, tables: OverlayTables, subchannels: Subchannels
) -> Iterator[str]:
    """Sub-channels whose bounds are not the network's: the last axis runs fastest."""
    attributes = [axis.attribute for axis in subchannels.axes]
    if list(header.attributes) != attributes:
        yield (
            f"the plan has bounds of {', '.join(header.attributes)}, the network cuts "
            f"{', '.join(attributes)}"
        )
        return
    table = tables.subchannels
    if not np.array_equal(table["subchannel"].to_numpy(), np.arange(len(subchannels))):
        yield (
            f"expected a row for each sub-channel from 0 to {len(subchannels) - 1:,}, "
            "in order"
        )
        return
    grids = np.indices(subchannels.shape).reshape(len(subchannels.axes), -1)
    for axis, cell in zip(subchannels.axes, grids, strict=True):
        edges = np.array(axis.edges)
        for end, bounds in (("low", edges[cell]), ("high", edges[cell + 1])):
            column = f"{axis.attribute}_{end}"
            stated = table[column].to_numpy()
            for row in np.flatnonzero(stated != bounds):
                yield (
                    f"sub-channel {row:,}: {column} stated {stated[row]:g}, in the "
                    f"network {bounds[row]:g}"
                )
