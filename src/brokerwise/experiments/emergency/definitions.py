"""The datasets and the channels of the emergency city, as Nguyen et al. have them.

Reports are fed as emergencies happen, locations as people move, shelters once. The
seven channels ask for events of a type, in a part of the city, or near a person. Where
they name shelters, these are found by a query of reports and shelters alone: it is done
once, for all subscriptions.

Everything is in metres and whole milliseconds. What results say is text and whole
numbers, so that two programs that agree write the same text.
"""

from brokerwise.runtime.protocol.data import (
    Channel,
    Column,
    ColumnType,
    Dataset,
    DatasetKind,
)

NEAR_METRES = 1_000  # how far away an emergency is still near, along each axis
SHELTER_METRES = 2_000  # how far a shelter may be, along each axis
SHELTERS_NAMED = 3


def _columns(**types: str) -> tuple[Column, ...]:
    return tuple(Column(name, ColumnType(kind)) for name, kind in types.items())


REPORTS = Dataset(
    "reports",
    DatasetKind.APPEND,
    _columns(
        report="string",  # names it; there are no two the same
        type="string",
        severity="long",  # 1 to 5
        cell="string",  # the part of the city
        x="double",
        y="double",
        text="string",
        fed_at="long",  # when it was handed over, milliseconds since 1970
    ),
)
LOCATIONS = Dataset(
    "user_locations",
    DatasetKind.KEYED,
    _columns(user="string", x="double", y="double", at="long"),
    key="user",
)
SHELTERS = Dataset(
    "shelters",
    DatasetKind.STATIC,
    _columns(shelter="string", x="double", y="double", beds="long"),
)
DATASETS = (REPORTS, LOCATIONS, SHELTERS)

_BY_TYPE = """\
SELECT r.report, r.severity, r.cell, r.text, r.fed_at
FROM reports r
WHERE r.type = :type
"""

_IN_CELL = """\
SELECT r.report, r.type, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.cell = :cell
"""

_NEAR_USER = """\
SELECT r.report, r.type, r.severity, r.text, r.fed_at,
       CAST(floor(sqrt((r.x - u.x) * (r.x - u.x) + (r.y - u.y) * (r.y - u.y)))
            AS BIGINT) AS metres
FROM user_locations u
JOIN reports r
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user
"""

_SEVERE = """\
SELECT r.report, r.severity, r.text, r.fed_at
FROM reports r
WHERE r.type = :type AND r.cell = :cell AND r.severity >= 3
"""

_WITH_SHELTERS = """\
(
  SELECT q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at,
         slice(sort_array(collect_list(
           CASE WHEN s.shelter IS NOT NULL THEN named_struct(
             'metres', CAST(floor(sqrt(
               (q.x - s.x) * (q.x - s.x) + (q.y - s.y) * (q.y - s.y))) AS BIGINT),
             'shelter', s.shelter) END)), 1, 3) AS shelters
  FROM reports q
  LEFT JOIN shelters s
    ON s.x BETWEEN q.x - 2000 AND q.x + 2000
   AND s.y BETWEEN q.y - 2000 AND q.y + 2000
  GROUP BY q.report, q.type, q.severity, q.cell, q.x, q.y, q.text, q.fed_at
) r"""

_TYPE_NEAR_USER = f"""\
SELECT r.report, r.severity, r.cell, r.text, r.fed_at, r.shelters
FROM user_locations u
JOIN {_WITH_SHELTERS}
  ON r.x BETWEEN u.x - 1000 AND u.x + 1000
 AND r.y BETWEEN u.y - 1000 AND u.y + 1000
WHERE u.user = :user AND r.type = :type
"""

_CELL_SHELTERS = f"""\
SELECT r.report, r.type, r.severity, r.fed_at, r.shelters
FROM {_WITH_SHELTERS}
WHERE r.cell = :cell
"""

_TYPE_SUMMARY = """\
SELECT r.cell, count(*) AS reports, max(r.severity) AS worst, min(r.fed_at) AS fed_at
FROM reports r
WHERE r.type = :type
GROUP BY r.cell
"""

CHANNELS = (
    Channel("by_type", _BY_TYPE, 10.0, _columns(type="string")),
    Channel("in_cell", _IN_CELL, 10.0, _columns(cell="string")),
    Channel("near_user", _NEAR_USER, 10.0, _columns(user="string")),
    Channel("severe", _SEVERE, 20.0, _columns(type="string", cell="string")),
    Channel(
        "type_near_user", _TYPE_NEAR_USER, 20.0, _columns(type="string", user="string")
    ),
    Channel("cell_shelters", _CELL_SHELTERS, 30.0, _columns(cell="string")),
    Channel("type_summary", _TYPE_SUMMARY, 30.0, _columns(type="string")),
)


def channel_named(name: str) -> Channel:
    return next(channel for channel in CHANNELS if channel.name == name)
