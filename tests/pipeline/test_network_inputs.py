"""Users, brokers and links from files: what is read, and what is refused."""

from pathlib import Path

import numpy as np
import pytest

from brokerwise.model.errors import InputError
from brokerwise.model.network import distances
from brokerwise.pipeline.networks.files import read_latency
from brokerwise.pipeline.networks.topology import Links, NetworkFiles, read_topology
from brokerwise.storage.place import Place

FILES = {
    "brokers.csv": "name,capacity,x,y,site\nb2,20,3,4,rome\nb1,10,0,0,oslo\n",
    "users.csv": "name,x,y,site,brokers\nv,0,1,rome,\nu,3,4,oslo,b2; b1\n",
    "access.csv": "user,b2,b1\nv,2.5,\nu,0.1,7\n",
    "core.csv": "broker,b1,b2\nb1,0,6\nb2,6,0\n",
    "latency.csv": "from,oslo,rome,bern\noslo,1,50,20\nrome,40,2,0\nbern,20,9,\n",
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        Path(name).write_text(text)
    return tmp_path


def links(**given: str | bool) -> Links:
    repair = bool(given.pop("repair", False))
    places = {name: Place(str(path)) for name, path in given.items()}
    files = NetworkFiles(Place("brokers.csv"), repair=repair, **places)
    return read_topology(files).links


def test_members_are_in_the_order_of_their_names() -> None:
    given = NetworkFiles(Place("brokers.csv"), Place("users.csv"))
    topology = read_topology(given)
    users, brokers, found = topology.users, topology.brokers, topology.links
    assert (list(users.names), list(brokers.names)) == (["u", "v"], ["b1", "b2"])
    assert brokers.capacity.tolist() == [10, 20]
    assert users.where(0) == "users.csv line 3"
    assert found.access.tolist() == [[5000, 0], [1000, 4243]]
    assert found.core.tolist() == [[0, 5000], [5000, 0]]


def test_points_may_have_any_number_of_dimensions() -> None:
    for name in ("brokers", "users"):
        rows = "".join(f"{name}{n},1,{n},{n * n},{n % 2},1\n" for n in range(4))
        Path(f"{name}.csv").write_text(f"name,capacity,x1,x2,x3,x4\n{rows}")
    found = links(users="users.csv")
    points = np.array([[n, n * n, n % 2, 1.0] for n in range(4)])
    np.testing.assert_array_equal(found.access, distances(points, points))


def test_matrices_are_read_by_name_and_an_empty_access_cost_is_out_of_reach() -> None:
    found = links(access="access.csv", core="core.csv")
    assert found.access.tolist() == [[7000, 100], [-1, 2500]]
    assert found.core.tolist() == [[0, 6000], [6000, 0]]
    assert found.user_points is None


def test_tables_of_numbers_alone_are_in_the_order_of_names() -> None:
    Path("access.txt").write_text("1 2\n3 4\n")
    Path("core.tsv").write_text("0\t5\n5\t0\n")
    found = links(users="users.csv", access="access.txt", core="core.tsv")
    assert found.access.tolist() == [[1000, 2000], [3000, 4000]]


def test_a_user_knows_only_the_brokers_that_are_named() -> None:
    Path("users.csv").write_text("name,x,y,brokers\nu,0,0,b2\nv,0,0,\n")
    assert links(users="users.csv").access.tolist() == [[-1, 5000], [0, 5000]]


def test_latencies_count_both_ways_and_their_own_site() -> None:
    found = links(users="users.csv", latency="latency.csv")
    assert found.access.tolist() == [[1000, 45000], [45000, 2000]]
    assert found.core.tolist() == [[0, 45000], [45000, 0]]


def test_repair_takes_the_cheapest_way_round_and_fills_gaps() -> None:
    Path("users.csv").write_text("name,site\nu,oslo\n")
    Path("brokers.csv").write_text("name,capacity,site\na,1,oslo\nb,1,rome\nc,1,bern\n")
    with pytest.raises(InputError, match=r"latency.csv: core costs: 'a' to 'b'") as no:
        links(users="users.csv", latency="latency.csv")
    assert "but by 'c' only 29: the triangle inequality" in no.value.message
    assert "--repair-triangle" in no.value.hint
    found = links(users="users.csv", latency="latency.csv", repair=True)
    assert found.core[:2, :2].tolist() == [[0, 29000], [29000, 0]]
    assert found.access[0].tolist() == [1000, 45000, 20000]  # as measured
    Path("brokers.csv").write_text("name,capacity\nb1,1\nb2,1\nb3,1\n")
    Path("access.csv").write_text("user,b1,b2,b3\nu,1,1,1\n")
    Path("core.csv").write_text("broker,b1,b2,b3\nb1,3,4,\nb2,6,,1\nb3,,2,0\n")
    found = links(access="access.csv", core="core.csv", repair=True)
    assert found.core.tolist() == [[0, 5000, 6500], [5000, 0, 1500], [6500, 1500, 0]]


def test_no_time_between_two_sites_is_no_measurement() -> None:
    matrix = read_latency(Place("latency.csv"))
    assert np.isnan(matrix.costs[1, 2]) and matrix.costs[2, 1] == 9
    assert matrix.costs[0, 0] == 1


BAD = {
    "no such file": ({}, "nobody.csv", "nobody.csv does not exist"),
    "not a table": ({"u.csv": ""}, "u.csv", "u.csv: no column name"),
    "a column twice": ({"u.csv": "name,x,x\n"}, "u.csv", "column 'x' is there twice"),
    "too few cells": (
        {"u.csv": "name,x,y\n\nu,1\n"},
        "u.csv",
        "u.csv line 3: 2 columns, expected 3",
    ),
    "no number": (
        {"u.csv": "name,x,y\nu,1,nan\n"},
        "u.csv",
        "u.csv line 2: y is 'nan', expected a number",
    ),
    "no name": ({"u.csv": "name,x,y\n,1,1\n"}, "u.csv", "u.csv line 2: name is ''"),
    "a name twice": (
        {"u.csv": "name,x,y\nu,1,1\nu,2,2\n"},
        "u.csv",
        "u.csv: name 'u' is there twice",
    ),
    "not UTF-8": ({"u.csv": "name,x,y\n\xff"}, "u.csv", "line 2: not valid UTF-8"),
    "nowhere": ({"u.csv": "name\nu\n"}, "u.csv", "u.csv: no columns x, y, ... say"),
    "other dimensions": (
        {"u.csv": "name,x\nu,1\n"},
        "u.csv",
        "u.csv: its coordinates are x, expected x,y",
    ),
    "a broker that is not there": (
        {"u.csv": "name,x,y,brokers\nu,1,1,b9\n"},
        "u.csv",
        "u.csv line 2: broker 'b9' is not in brokers.csv",
    ),
    "no capacity": (
        {"brokers.csv": "name,x,y\nb,1,1\n"},
        "users.csv",
        "brokers.csv: no column capacity",
    ),
    "a capacity below zero": (
        {"brokers.csv": "name,capacity,x,y\nb,-1,1,1\n"},
        "users.csv",
        "brokers.csv line 2: capacity is '-1', expected a whole number",
    ),
    "no broker": (
        {"brokers.csv": "name,capacity,x,y\n"},
        "users.csv",
        "brokers.csv: found no broker",
    ),
}


@pytest.mark.parametrize(("texts", "users", "message"), BAD.values(), ids=BAD.keys())
def test_a_bad_table_is_named_with_line_and_column(
    texts: dict[str, str], users: str, message: str
) -> None:
    for name, text in texts.items():
        Path(name).write_text(text, encoding="latin-1")
    with pytest.raises(InputError) as refused:
        links(users=users)
    assert message in refused.value.message


BAD_MATRICES = {
    "not square": ("core.csv", "broker,b1\nb1,0\nb2,1\n", "no column for broker 'b2'"),
    "NaN": (
        "core.csv",
        "broker,b1,b2\nb1,0,NaN\nb2,1,0\n",
        "core.csv line 2: column b2 is 'NaN', expected a number from 0",
    ),
    "a cost below zero": (
        "access.csv",
        "user,b1,b2\nu,1,-2\nv,1,1\n",
        "access.csv line 2: column b2 is '-2', expected a number from 0",
    ),
    "a short line": (
        "core.csv",
        "broker,b1,b2\nb1,0,1\nb2,1\n",
        "core.csv line 3: 1 costs, expected 2",
    ),
    "a broker too many": (
        "core.csv",
        "broker,b1,b2,b3\nb1,0,1,1\nb2,1,0,1\nb3,1,1,0\n",
        "core.csv: row 'b3' is no broker",
    ),
    "a user that is missing": (
        "access.csv",
        "user,b1,b2\nu,1,1\n",
        "access.csv: no row for user 'v'",
    ),
    "a user out of reach": (
        "access.csv",
        "user,b1,b2\nu,1,1\nv,,\n",
        "users.csv line 2: user 'v' has no broker in reach",
    ),
    "a link that is missing": (
        "core.csv",
        "broker,b1,b2\nb1,0,\nb2,1,0\n",
        "core.csv: no cost for the link from 'b1' to 'b2'",
    ),
    "one way dearer": (
        "core.csv",
        "broker,b1,b2\nb1,0,2\nb2,1,0\n",
        "core.csv: core costs: 'b1' to 'b2' costs 2, back 1",
    ),
    "numbers alone of another size": (
        "core.csv",
        "0,1,2\n1,0,2\n2,2,0\n",
        "core.csv: found 3 rows, expected one for each of 2 brokers",
    ),
    "nothing": ("core.csv", "\n", "core.csv is empty"),
}


@pytest.mark.parametrize(
    ("file", "text", "message"), BAD_MATRICES.values(), ids=BAD_MATRICES.keys()
)
def test_a_bad_matrix_is_named_with_what_is_wrong(
    file: str, text: str, message: str
) -> None:
    Path(file).write_text(text)
    with pytest.raises(InputError) as refused:
        links(users="users.csv", access="access.csv", core="core.csv")
    assert message in refused.value.message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x,a,b\na,0,1\n", "found 1 rows and 2 columns, expected a square matrix"),
        ("x,a,b\na,0,1\nc,1,0\n", "no column for row 'c'"),
        ("1 2 3\n4 5 6\n", "found 2 rows and 3 columns, expected a square matrix"),
    ],
)
def test_a_latency_matrix_must_be_square(text: str, message: str) -> None:
    Path("latency.csv").write_text(text)
    with pytest.raises(InputError, match=message):
        read_latency(Place("latency.csv"))


def test_a_site_that_has_no_latencies_is_named() -> None:
    Path("users.csv").write_text("name,site\nu,paris\n")
    with pytest.raises(InputError, match=r"users.csv line 2: site 'paris' is not in"):
        links(users="users.csv", latency="latency.csv")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "expected --users FILE"),
        ({"access": "access.csv"}, "expected --access and --core together"),
        (
            {"access": "access.csv", "core": "core.csv", "latency": "latency.csv"},
            "found both",
        ),
    ],
)
def test_costs_come_from_one_place(given: dict[str, str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        links(**given)
