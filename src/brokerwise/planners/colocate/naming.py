"""Names of replicas, which are topics of their own in a fleet."""

import numpy as np

from brokerwise.model.arrays import Int64s
from brokerwise.model.colocation import replica_name
from brokerwise.model.errors import InputError
from brokerwise.model.names import Names


def refuse_taken_names(names: Names, replicas: Int64s) -> None:
    """InputError if a replica of a topic would be called like a topic: such a plan
    could not run."""
    for at in np.flatnonzero(replicas > 1).tolist():
        topic, count = names[at], int(replicas[at])
        called = [replica_name(topic, number) for number in range(count)]
        taken = next((name for name in called if names.find(name) is not None), None)
        if taken is not None:
            raise InputError(
                f"topic: found {taken!r} beside {topic!r}, which is cut into {count:,} "
                f"replicas called {called[0]!r} to {called[-1]!r} (--split); expected "
                "no topic that is called like one",
                hint=f"Rename topic {taken!r} or topic {topic!r}.",
            )
