"""The frame of every report."""

import os
import stat
import zlib
from dataclasses import replace
from functools import reduce
from pathlib import Path

import pytest
from plotly.offline import get_plotlyjs
from tests.show.reading import Reader

from brokerwise.model.errors import InputError
from brokerwise.show.page import (
    Packed,
    Page,
    packed,
    refuse_unwritable,
    render_page,
    write_page,
)
from brokerwise.show.plots import Axis, Plot, Series
from brokerwise.show.tables import Fact, Table

HOSTILE = "</script><script>alert(1)</script><img src=x onerror='alert(2)'>\"&amp;$x"


def page_about(name: str) -> Page:
    table = Table(name, ("", name), [(name, name)])
    series = Series(name, [1, 10, 0], [1, 0.1, 1], [name] * 3)
    return Page(
        title=name,
        question=name,
        answer=name,
        facts=[Fact(name, name, name)],
        tables=[table],
        plots=[Plot(name, name, Axis(name), Axis(name), [series], [table])],
        inputs=[Fact(name, name, name), Fact(name, name)],
        data={name: [name]},
    )


def test_hostile_names_stay_text() -> None:
    plain, hostile = (Reader(render_page(page_about(n))) for n in ("ok", HOSTILE))
    assert [tag for tag, _ in hostile.elements] == [tag for tag, _ in plain.elements]
    assert hostile.text.count(HOSTILE) == plain.text.split().count("ok") > 10
    names = [set(attributes) for _, attributes in hostile.elements]
    assert names == [set(attributes) for _, attributes in plain.elements]


def test_the_data_comes_back_whole() -> None:
    assert Reader(render_page(page_about(HOSTILE))).data("result") == {
        HOSTILE: [HOSTILE]
    }


def test_a_page_asks_the_network_for_nothing() -> None:
    reader = Reader(render_page(page_about("ok")))
    for tag, attributes in reader.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attributes
        assert (attributes.get("href") or "#").startswith("#")
    assert "url(" not in reader.style
    assert "@import" not in reader.style
    policies = [
        a["content"] or ""
        for _, a in reader.elements
        if a.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'")
    assert "http" not in policies[0]


def test_links_within_the_page_lead_somewhere() -> None:
    elements = Reader(render_page(page_about("ok"))).elements
    identities = [a["id"] for _, a in elements if "id" in a]
    assert len(identities) == len(set(identities))
    links = [a["href"] for tag, a in elements if tag == "a"]
    assert links
    assert {link.removeprefix("#") for link in links if link} <= set(identities)


def test_points_that_cannot_be_shown_are_mentioned() -> None:
    text = Reader(render_page(page_about("ok"))).text
    assert "1 point at zero cannot be shown on a logarithmic axis" in text


def test_without_anything_to_draw_the_library_stays_out() -> None:
    html = render_page(replace(page_about("ok"), plots=[]))
    assert "There is nothing to plot." in html
    assert len(html) < 50_000


def test_a_script_is_packed_without_loss_and_without_markup() -> None:
    script = "".join(map(chr, range(0x2000))) * 5 + "</script><!--"
    for cut in range(4):
        found = packed(script[cut:])
        assert unpacked(found) == script[cut:]
        assert not set(found.text) & set("<&\"'$ \n")
        assert found == packed(script[cut:])


def unpacked(found: Packed) -> str:
    codes = [ord(character) - 42 for character in found.text.replace("(", "<")]
    words = []
    for at in range(0, len(codes), 5):
        first, *rest = codes[at : at + 5]
        words.append(reduce(lambda word, digit: 85 * word + digit, rest, first))
    content = b"".join(word.to_bytes(4, "big") for word in words)
    return zlib.decompress(content[: found.size]).decode()


def test_a_page_holds_the_drawing_library_in_little_room() -> None:
    html = render_page(page_about("ok"))
    assert len(html.encode()) < 1_900_000
    scripts = dict(Reader(html).scripts)
    library = scripts["plotly"]
    assert len(library) > 1_000_000
    assert library == packed(get_plotlyjs()).text
    assert html == render_page(page_about("ok"))


OLD = '<!doctype html><p class="product">Brokerwise</p>old'


def test_a_report_replaces_an_older_one_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "report.html"
    write_page(path, OLD)
    write_page(path, "new: \N{SNOWMAN} \udcff")
    assert path.read_text(encoding="utf-8") == "new: \N{SNOWMAN} \\udcff"
    assert list(path.parent.iterdir()) == [path]
    umask = os.umask(0)
    os.umask(umask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


def test_a_report_that_fails_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    write_page(path, OLD)

    def full_disk(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", full_disk)
    with pytest.raises(OSError, match="no space"):
        write_page(path, "new")
    assert path.read_text() == OLD
    assert list(tmp_path.iterdir()) == [path]


def test_places_where_no_report_can_be_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="no report is there already"):
        refuse_unwritable(tmp_path / "file")
    with pytest.raises(InputError, match="it is a directory"):
        refuse_unwritable(tmp_path)
    with pytest.raises(InputError, match="is not a directory"):
        refuse_unwritable(tmp_path / "file" / "report.html")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(InputError, match="may not be written to"):
        refuse_unwritable(tmp_path / "new" / "report.html")
