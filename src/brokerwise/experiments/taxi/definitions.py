"""The dataset, the channel and the topics of the taxis.

Speeds are whole centimetres a second and times whole milliseconds, so that two
programs that agree write the same text.
"""

from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)

GPS = "gps/"  # and the region: where its taxis tell their positions
STEPS = {f"{GPS}*": "brokerwise.experiments.taxi.step:clean"}

POSITIONS = Dataset(
    "positions",
    DatasetKind.APPEND,
    tuple(
        Column(name, ColumnType(kind))
        for name, kind in {
            "taxi": "string",
            "seq": "long",  # counts a taxi's positions
            "region": "string",
            "x": "long",
            "y": "long",
            "speed": "long",
            "told_at": "long",  # by the taxi,
            "processed_at": "long",  # and when the step was done with it
        }.items()
    ),
)
INTO = {f"{GPS}*": POSITIONS.name}

# What does not depend on the region is computed once, for all that want an update.
_SQL = """\
SELECT u.region, u.taxis, u.positions, u.speed, u.newest
FROM (
  SELECT p.region, count(DISTINCT p.taxi) AS taxis, count(*) AS positions,
         CAST(floor(sum(p.speed) / count(*)) AS BIGINT) AS speed,
         max(p.told_at) AS newest
  FROM positions p
  GROUP BY p.region
) u
WHERE u.region = :region
"""


def updates(period: float) -> Channel:
    """How it is in a region: taxis and their mean speed in the last period."""
    region = Column("region", ColumnType.STRING)
    return Channel("updates", _SQL, period, (region,))
