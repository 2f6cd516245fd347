"""The catalog that comes with the program, and users' own."""

from pathlib import Path

import pytest

from brokerwise.model.catalog import Offer, fleet_of
from brokerwise.model.errors import InputError
from brokerwise.storage.catalog import parse_catalog, read_catalog, shipped_catalog
from brokerwise.storage.place import Place


def test_the_shipped_catalog_has_the_papers_two_types_with_its_figures() -> None:
    paper = "Setty et al. 2014"
    assert shipped_catalog().offers[:2] == (
        Offer("c3.large", 0.15, "64Mbit/s", source=paper),
        Offer("c3.xlarge", 0.30, "128Mbit/s", source=paper),
    )
    assert shipped_catalog().gigabyte_usd == 0.12


def test_the_shipped_catalog_has_current_types_that_can_all_be_used() -> None:
    catalog = shipped_catalog()
    names = [offer.name for offer in catalog]
    fleet = fleet_of(catalog, names, period_seconds=864_000, message_bytes=200)
    prices = {t.name: (t.hour_usd, t.capacity) for t in fleet}
    assert prices["c7g.large"] == (0.0725, 937_000_000 // 8 * 864_000 // 200)
    assert prices["c6in.32xlarge"] == (7.2576, 200_000 * 10**6 // 8 * 864_000 // 200)
    assert len(names) > 300
    assert all(hour_usd > 0 for hour_usd, _ in prices.values())


def test_a_users_file_may_give_bandwidths(tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_bytes(
        b"\xef\xbb\xbf# what we rent\r\nType,Hour_USD,bandwidth,count\r\n\r\n"
        b' small , 0.5 ,"1,000 Mbit/s",\r\nlarge,1e0,2.5Gbit/s,12\r\n'
    )
    catalog = read_catalog(Place(str(file)))
    assert list(catalog) == [
        Offer("small", 0.5, "1,000 Mbit/s", None),
        Offer("large", 1.0, "2.5Gbit/s", 12),
    ]
    fleet = fleet_of(catalog, ["small", "large"], period_seconds=8, message_bytes=10)
    assert [t.capacity for t in fleet] == [10**8, 25 * 10**7]


def test_a_users_file_may_give_messages_per_period() -> None:
    catalog = parse_catalog("capacity,type,hour_usd\n500,a,0\n", "own.csv")
    assert list(catalog) == [Offer("a", 0.0, "500")]
    assert catalog.name == "own.csv"


HEADER = "type,hour_usd,bandwidth,count\n"
PLAIN = "type,hour_usd,capacity\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.csv is empty, expected a first line type,hour_usd,bandwidth or"),
        ("# nothing\n\n", "f.csv is empty, expected a first line type,hour_usd"),
        (HEADER, "f.csv: found no line after the header, expected a type"),
        ("a,1,5Mbit/s\n", "f.csv, line 1: found column 'a', expected type, hour_usd,"),
        ("type,type\n", "f.csv, line 1: found column 'type' twice"),
        ("type,bandwidth\n", "f.csv, line 1: column 'hour_usd' is missing"),
        ("hour_usd,capacity\n", "f.csv, line 1: column 'type' is missing"),
        ("type,hour_usd\n", "line 1: found neither of the columns bandwidth and"),
        ("type,hour_usd,capacity,bandwidth\n", "line 1: found both of the columns"),
        (HEADER + "\na,1,5Mbit/s\n", "f.csv, line 3: found 3 columns, expected 4"),
        (PLAIN + "a,-1,5\n", "line 2, column hour_usd: found '-1', expected zero or"),
        (PLAIN + "a,$1,5\n", "line 2, column hour_usd: found '$1', expected zero or"),
        (PLAIN + "a,nan,5\n", "line 2, column hour_usd: found 'nan', expected zero"),
        (PLAIN + "a,,5\n", "line 2, column hour_usd: found '', expected zero or"),
        (PLAIN + "a,1,0\n", "line 2, column capacity: found '0', expected a whole"),
        (PLAIN + "a,1,-5\n", "line 2, column capacity: found '-5', expected a whole"),
        (PLAIN + "a,1,1.5\n", "line 2, column capacity: found '1.5', expected a whole"),
        (PLAIN + "a,1,5Mbit/s\n", "column capacity: found '5Mbit/s', expected a whole"),
        (HEADER + "a,1,64,\n", "column bandwidth: found '64', expected a bandwidth"),
        (HEADER + "a,1,64Mbps,\n", "column bandwidth: found '64Mbps', expected a"),
        (HEADER + "a,1,6xbit/s,\n", "column bandwidth: found '6xbit/s', expected a"),
        (HEADER + "a,1,0bit/s,\n", "column bandwidth: found '0bit/s', expected a"),
        (HEADER + "a,1,1bit/s,0\n", "column count: found '0', expected a whole number"),
        (HEADER + "a,1,1bit/s,x\n", "column count: found 'x', expected a whole number"),
        (PLAIN + ",1,5\n", "line 2, column type: found '', expected a name"),
        (PLAIN + '"a,b",1,5\n', "line 2, column type: found 'a,b', expected a name"),
        (PLAIN + "a,1,5\nb,1,5\na,2,6\n", "line 4, column type: found 'a' again, it"),
        (PLAIN + 'a,1,"5\n', "f.csv, line 2: unexpected end of data"),
    ],
)
def test_what_is_not_understood_is_named(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_catalog(text, "f.csv")
    assert message in caught.value.message
    assert caught.value.message.startswith("f.csv")


def test_a_bandwidth_under_capacity_is_told_its_column() -> None:
    with pytest.raises(InputError) as caught:
        parse_catalog(PLAIN + "a,1,5Mbit/s\n", "f.csv")
    assert caught.value.hint == "A bandwidth goes in a column that is named bandwidth."


def test_a_file_that_is_not_there_or_not_text_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none\.csv cannot be read"):
        read_catalog(Place(str(tmp_path / "none.csv")))
    with pytest.raises(InputError, match="cannot be read"):
        read_catalog(Place(str(tmp_path)))
    (tmp_path / "wide.csv").write_bytes("type,hour_usd,capacity".encode("utf-16"))
    with pytest.raises(InputError, match=r"wide\.csv: found bytes that are not UTF-8"):
        read_catalog(Place(str(tmp_path / "wide.csv")))
