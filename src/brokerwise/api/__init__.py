"""The Python API: the verbs of the command line, on objects and directories.

What works on data of any size runs on Spark: on the session that is active, or on
a local one that is started for the purpose and ends with the process.
"""

from brokerwise.api.audits import audit
from brokerwise.api.balancing import simulate_balance
from brokerwise.api.colocating import colocate, read_colocation_plan, read_topics
from brokerwise.api.latencies import (
    read_latency_model,
    simulate_latencies,
    train_latency_model,
)
from brokerwise.api.networks import (
    generate_network,
    overlay,
    read_network,
    read_overlay_plan,
    write_network,
)
from brokerwise.api.plans import (
    catalog,
    fill,
    fleet,
    provision,
    read_plan,
    write_plan,
)
from brokerwise.api.workloads import (
    generate,
    ingest,
    ingest_trips,
    profile,
    read_workload,
    uniform,
    write_workload,
)
from brokerwise.auditing.findings import Audit, Violation
from brokerwise.model.catalog import Catalog
from brokerwise.model.colocation import ColocationPlan, Replicas, TopicTable
from brokerwise.model.errors import BrokerwiseError, InputError
from brokerwise.model.fleet import Bandwidth, BrokerType, Fleet
from brokerwise.model.interests import Interests
from brokerwise.model.names import Names
from brokerwise.model.network import Network, Published, Wanted
from brokerwise.model.overlay import OverlayPlan, Trees
from brokerwise.model.placement import Placement
from brokerwise.model.plan import Brokers, Plan, Status
from brokerwise.model.profile import Profile
from brokerwise.model.subchannels import Subchannels
from brokerwise.model.workload import Workload
from brokerwise.pipeline.plans import SavablePlan
from brokerwise.planners.provision.solve import Answer, affordable
from brokerwise.runtime.client.client import Client
from brokerwise.runtime.client.events import GapTold, Received

__all__ = [
    "Answer",
    "Audit",
    "Bandwidth",
    "BrokerType",
    "Brokers",
    "BrokerwiseError",
    "Catalog",
    "Client",
    "ColocationPlan",
    "Fleet",
    "GapTold",
    "InputError",
    "Interests",
    "Names",
    "Network",
    "OverlayPlan",
    "Placement",
    "Plan",
    "Profile",
    "Published",
    "Received",
    "Replicas",
    "SavablePlan",
    "Status",
    "Subchannels",
    "TopicTable",
    "Trees",
    "Violation",
    "Wanted",
    "Workload",
    "affordable",
    "audit",
    "catalog",
    "colocate",
    "fill",
    "fleet",
    "generate",
    "generate_network",
    "ingest",
    "ingest_trips",
    "overlay",
    "profile",
    "provision",
    "read_colocation_plan",
    "read_latency_model",
    "read_network",
    "read_overlay_plan",
    "read_plan",
    "read_topics",
    "read_workload",
    "simulate_balance",
    "simulate_latencies",
    "train_latency_model",
    "uniform",
    "write_network",
    "write_plan",
    "write_workload",
]
