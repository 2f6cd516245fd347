"""The city, its shelters and its reports."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from brokerwise.reproduce.emergency.city import (
    METRES,
    TYPES,
    Place,
    Report,
    between,
    cell_of,
    cells,
    reports,
    shelters,
    somewhere,
)

FED_AT = 1_700_000_000_000
REPORTS = reports(7, 3_000, 540.0)


def is_exact(place: Place) -> bool:
    return all(c * 2 == int(c * 2) and 0 <= c < METRES for c in place)


def test_reports_come_in_order_and_have_names_of_their_own() -> None:
    assert [r.at for r in REPORTS] == sorted(r.at for r in REPORTS)
    assert REPORTS[0].at >= 0 and REPORTS[-1].at < 540.0
    assert len({r.report for r in REPORTS}) == 3_000


def test_a_report_has_200_to_700_bytes() -> None:
    sizes = [len(msgspec.json.encode(r.record(FED_AT))) for r in REPORTS]
    assert 200 <= min(sizes) < 250
    assert 650 < max(sizes) <= 700


def test_reports_are_of_all_types_in_most_of_the_city() -> None:
    assert {r.type for r in REPORTS} == set(TYPES)
    assert {r.severity for r in REPORTS} == {1, 2, 3, 4, 5}
    assert len({cell_of(r.place) for r in REPORTS}) > len(cells()) / 2


def test_the_same_seed_makes_the_same_city() -> None:
    assert reports(7, 3_000, 540.0) == REPORTS
    assert reports(8, 3_000, 540.0) != REPORTS
    assert list(shelters(7, 200)) == list(shelters(7, 200))


def test_places_are_whole_half_metres_inside_the_city() -> None:
    rng = random.Random(1)
    assert all(is_exact(somewhere(rng)) for _ in range(1_000))
    assert all(is_exact(r.place) for r in REPORTS)
    assert all(is_exact(Place(float(s["x"]), float(s["y"]))) for s in shelters(7, 200))


def test_three_shelters_are_near_any_place() -> None:
    found = [Place(float(s["x"]), float(s["y"])) for s in shelters(7, 200)]
    assert len({s["shelter"] for s in shelters(7, 200)}) == 200
    for x in range(0, METRES, 250):
        for y in range(0, METRES, 250):
            near = [p for p in found if max(abs(p.x - x), abs(p.y - y)) <= 2_000]
            assert len(near) >= 3


def test_every_cell_is_known() -> None:
    corners = [Place(x, y) for x in (0.0, 9_999.5) for y in (0.0, 9_999.5)]
    assert [cell_of(corner) for corner in corners] == ["0-0", "0-4", "4-0", "4-4"]
    assert {cell_of(r.place) for r in REPORTS} <= set(cells())
    assert len(set(cells())) == 25


def test_a_record_says_what_the_report_does() -> None:
    report = Report(1.0, "r1", "fire", 3, Place(2_500.0, 4_100.5), "smoke")
    assert report.record(FED_AT) == {
        "report": "r1",
        "type": "fire",
        "severity": 3,
        "cell": "1-2",
        "x": 2_500.0,
        "y": 4_100.5,
        "text": "smoke",
        "fed_at": FED_AT,
    }


coordinates = st.integers(0, 2 * METRES - 1).map(lambda half: half / 2)
places = st.builds(Place, coordinates, coordinates)


@given(start=places, end=places, share=st.floats(0, 1))
def test_what_is_between_is_exact_and_no_farther_than_the_end(
    start: Place, end: Place, share: float
) -> None:
    found = between(start, end, share)
    assert is_exact(found)
    assert min(start.x, end.x) <= found.x <= max(start.x, end.x)
    assert between(start, end, 0.0) == start
    assert between(start, end, 1.0) == end
