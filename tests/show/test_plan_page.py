"""From plan directories of all kinds to the JSON of their pages; who may see them."""

import json
import shutil
from collections.abc import Iterator
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest
from tests.auditing.forge import Forgery
from tests.show.plans import KEYS as TOKENS
from tests.show.plans import TOKEN, Plans, newsroom, served

import brokerwise
from brokerwise.model.errors import DigestMismatchError, InputError
from brokerwise.model.fleet import Fleet
from brokerwise.page.assets import ASSETS, HEADERS
from brokerwise.runtime.protocol.tokens import Role
from brokerwise.show import plan_page
from brokerwise.show.plan_page import UnreadablePlanError, open_view
from brokerwise.show.view import View
from brokerwise.storage.place import Place

PLOTS = {
    "provision": [
        "Cost against threshold",
        "Cost and bounds",
        "Where the money goes",
        "Load of the brokers",
        "The dearest topics",
    ],
    "fill": [
        "What is delivered, and what could be",
        "Load of the brokers",
        "What is delivered, by rate of the topic",
        "What is delivered, by subscribers of the topic",
    ],
    "colocate": ["What brokers carry", "How near topics come to their targets"],
    "overlay": [
        "What it costs, and what others would",
        "Load of the brokers",
        "Traffic on the links between brokers",
    ],
}
KEYS = {
    *("kind", "name", "title", "question", "answer", "facts", "status", "objective"),
    *("bound", "gap", "gap_text", "inputs", "tables", "plots", "command", "unit"),
    *("brokers", "broker_count", "overlay", "audit"),
}


@pytest.mark.parametrize("kind", PLOTS)
def test_a_plan_says_what_its_command_said(plans: Plans, kind: str) -> None:
    place = plans.of(kind)
    plan = open_view(place).plan
    kept = json.loads((place / "result.json").read())
    assert set(plan) == KEYS
    assert plan["kind"] == kind
    assert plan["name"] == str(place)
    assert plan["command"] == kept["command"]
    assert [plan[key] for key in ("status", "objective", "bound", "gap")] == [
        kept[key] for key in ("status", "objective", "bound", "gap")
    ]
    assert [plot["title"] for plot in plan["plots"]] == PLOTS[kind]
    assert plan["audit"] == {"ok": True, "total": 0, "findings": [], "advice": ""}
    assert plan["broker_count"] == len(plan["brokers"]) > 0
    json.dumps(plan)


@pytest.mark.parametrize("kind", PLOTS)
def test_the_page_has_the_sentences_and_numbers_of_the_report(
    plans: Plans, kind: str
) -> None:
    from brokerwise.show.reports import page_of

    plan = open_view(plans.of(kind)).plan
    report = page_of(json.loads((plans.of(kind) / "result.json").read()), "result.json")
    assert plan["question"] == report.question
    assert plan["answer"] == report.answer
    assert plan["facts"] == [[f.label, f.value, f.note] for f in report.facts]


def test_an_overlay_has_a_map(plans: Plans) -> None:
    drawn = open_view(plans.of("overlay")).plan["overlay"]
    assert len(drawn["users"]) == 30
    assert {len(user) for user in drawn["users"]} == {6}
    assert set(drawn["brokers"][0]) == {
        *("name", "x", "y", "users", "load", "capacity", "colour"),
    }
    assert set(drawn["links"][0]) == {"from", "to", "traffic", "cost"}
    assert drawn["caption"].startswith("Squares are brokers")


def test_plans_beside_it_are_compared_if_they_are_for_the_same(
    plans: Plans, tmp_path: Path
) -> None:
    plot = open_view(plans.of("provision")).plan["plots"][0]
    assert [(s["name"], s["x"]) for s in plot["series"]] == [
        ("capacity 45: cost", [5, 12]),
        ("capacity 45: bound", [5, 12]),
        ("this plan", [12]),
    ]
    alone = tmp_path / "alone"
    shutil.copytree(str(plans.of("provision")), alone)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "plan.json").write_text("{")
    shutil.copytree(str(plans.of("fill")), tmp_path / "fill")
    plots = open_view(Place(str(alone))).plan["plots"]
    assert [plot["title"] for plot in plots] == PLOTS["provision"][1:]


@pytest.mark.parametrize(
    "change",
    [{"objective": None}, {"bound": float("nan")}, {"threshold": None}, {"fleet": {}}],
    ids=str,
)
def test_a_plan_beside_it_that_makes_no_sense_is_left_out(
    plans: Plans, tmp_path: Path, change: dict[str, Any]
) -> None:
    shutil.copytree(plans.folder / "several", tmp_path / "several")
    header = tmp_path / "several" / "5-broker-45" / "plan.json"
    header.write_text(json.dumps({**json.loads(header.read_text()), **change}))
    view = open_view(Place(str(tmp_path / "several" / "12-broker-45")))
    titles = [plot["title"] for plot in view.plan["plots"]]
    assert titles == PLOTS["provision"][1:]


@pytest.mark.parametrize("details", [None, [], "x", 5])
def test_details_that_are_none_are_left_out(
    plans: Plans, tmp_path: Path, details: object
) -> None:
    copy = shutil.copytree(plans.of("provision").uri, tmp_path / "plan")
    result = json.loads((copy / "result.json").read_text())
    (copy / "result.json").write_text(json.dumps({**result, "details": details}))
    view = open_view(Place(str(copy)))
    assert view.plan["answer"] == open_view(plans.of("provision")).plan["answer"]


def test_names_are_not_escaped_since_nothing_reads_them_as_markup(
    tmp_path: Path,
) -> None:
    workload = brokerwise.Workload.from_pairs(
        topics=["<b>&amp;", "<b>&amp;"], subscribers=["u", "v"], rates={"<b>&amp;": 3}
    )
    brokerwise.write_workload(workload, tmp_path / "w")
    plan = brokerwise.fill(workload, Fleet.of(1, 20))
    plan.save(tmp_path / "p", tmp_path / "w")
    view = open_view(Place(str(tmp_path / "p")))
    assert view.find("<b>")["topics"][0]["name"] == "<b>&amp;"


def test_a_plan_of_the_python_api_has_no_command(tmp_path: Path) -> None:
    workload = newsroom()
    brokerwise.write_workload(workload, tmp_path / "w")
    plan = brokerwise.fill(workload, Fleet.of(2, 45))
    plan.save(tmp_path / "p", tmp_path / "w")
    opened = open_view(Place(str(tmp_path / "p"))).plan
    labels = [label for label, *_ in opened["inputs"]]
    assert opened["command"] == ""
    assert "Brokerwise" not in labels
    assert "Time" in labels


def test_a_result_of_another_plan_is_not_believed(plans: Plans, tmp_path: Path) -> None:
    folder = copied(plans, "fill", tmp_path)
    result = json.loads((folder / "result.json").read_text())
    (folder / "result.json").write_text(json.dumps(result | {"digest": "0" * 64}))
    assert open_view(Place(str(folder))).plan["command"] == ""


def test_what_was_kept_cannot_change_what_the_plan_says(
    plans: Plans, tmp_path: Path
) -> None:
    folder = copied(plans, "fill", tmp_path)
    result = json.loads((folder / "result.json").read_text())
    lie = {"delivered": 10**9, "objective": 10.0**9, "command": "echo"}
    (folder / "result.json").write_text(json.dumps(result | lie))
    told, plain = (open_view(p).plan for p in (Place(str(folder)), plans.of("fill")))
    assert told["command"] == "echo"
    assert (told["answer"], told["facts"]) == (plain["answer"], plain["facts"])


def test_what_the_audit_finds_is_on_the_page(plans: Plans, tmp_path: Path) -> None:
    folder = copied(plans, "fill", tmp_path)
    forged = Forgery.of(folder)
    forged.header["figures"]["load"] += 1
    forged.write(mend_digests=True)
    audit = open_view(Place(str(folder))).plan["audit"]
    assert (audit["ok"], audit["total"]) == (False, 1)
    (check, message), *_ = audit["findings"]
    assert check == "totals"
    assert "load" in message
    assert audit["advice"] == f"See all of it: brokerwise audit {folder}"


def test_a_plan_that_makes_no_sense_is_refused_with_what_is_wrong(
    plans: Plans, tmp_path: Path
) -> None:
    folder = copied(plans, "fill", tmp_path)
    forged = Forgery.of(folder)
    forged.assignment[0]["broker"] = 77
    forged.write(mend_digests=True)
    with pytest.raises(UnreadablePlanError, match="cannot be shown") as refused:
        open_view(Place(str(folder)))
    assert any("77" in line for line in refused.value.details)


def test_a_plan_that_is_too_large_is_shown_without_an_audit(
    plans: Plans, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan_page, "MOST_PAIRS", 3)
    audit = open_view(plans.of("fill")).plan["audit"]
    assert audit["ok"] is None
    assert audit["advice"].startswith("Too large to be audited here: brokerwise audit ")


def test_what_is_no_plan_is_refused(plans: Plans, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"has no plan\.json") as empty:
        open_view(Place(str(tmp_path)))
    assert empty.value.hint.startswith("Make one")
    with pytest.raises(InputError, match=r"has no plan\.json") as several:
        open_view(Place(str(plans.folder / "several")))
    assert several.value.hint.endswith("several/12-broker-45")
    (tmp_path / "plan.json").write_text('{"format": 1, "kind": "dream"}')
    with pytest.raises(InputError, match="kind 'dream', expected provision, fill"):
        open_view(Place(str(tmp_path)))
    (tmp_path / "plan.json").write_text(
        '{"format": 1, "kind": "fill", "status": "infeasible"}'
    )
    with pytest.raises(InputError, match="is infeasible: there is no plan to show"):
        open_view(Place(str(tmp_path)))


def test_a_workload_that_moved_is_named(plans: Plans, tmp_path: Path) -> None:
    folder = copied(plans, "fill", tmp_path)
    edited(folder, lambda header: header["workload"].update(path="/nowhere"))
    with pytest.raises(InputError, match="is not where it says") as lost:
        open_view(Place(str(folder)))
    assert lost.value.hint == "Name where it is with --workload DIR."
    there = Place(str(plans.folder / "workload"))
    assert open_view(Place(str(folder)), there).plan["audit"]["ok"]


def test_another_workload_is_refused(plans: Plans, tmp_path: Path) -> None:
    other = brokerwise.Workload.from_pairs(
        topics=["a"], subscribers=["u"], rates={"a": 1}
    )
    brokerwise.write_workload(other, tmp_path / "w")
    with pytest.raises(DigestMismatchError):
        open_view(plans.of("fill"), Place(str(tmp_path / "w")))


def copied(plans: Plans, kind: str, folder: Path) -> Path:
    return Path(shutil.copytree(str(plans.of(kind)), folder / kind))


def edited(folder: Path, edit: Any) -> None:
    header = json.loads((folder / "plan.json").read_text())
    edit(header)
    (folder / "plan.json").write_text(json.dumps(header))


VIEW = View(
    {"kind": "fill"},
    lambda text: {"topics": [], "subscribers": [], "more": False, "asked": text},
    lambda number: {"number": number} if number < 2 else None,
)
DATA = ("/plan", "/plan/find?text=a", "/plan/broker/0")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served(VIEW) as address:
        yield address


def get(url: str, path: str, token: str = "", **headers: str) -> HTTPResponse:
    connection = HTTPConnection(urlsplit(url).netloc, timeout=60)
    if token:
        headers["Authorization"] = f"Bearer {token}"
    connection.request("GET", path, headers=headers)
    answer = connection.getresponse()
    answer.content = answer.read()  # type: ignore[attr-defined]
    connection.close()
    return answer


def content(answer: HTTPResponse) -> Any:
    return json.loads(answer.content)  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", ["/", *(f"/page/{name}" for name in sorted(ASSETS))])
def test_static_files_are_for_everybody(url: str, path: str) -> None:
    answer = get(url, path)
    assert answer.status == 200
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    again = get(url, path, **{"If-None-Match": str(answer.headers["ETag"])})
    assert again.status == 304


def test_the_page_is_that_of_a_plan(url: str) -> None:
    assert b"page/plan.js" in get(url, "/").content  # type: ignore[attr-defined]


@pytest.mark.parametrize("path", [*DATA, "/page/nothing.js", "/other"])
def test_nothing_else_is_without_a_token(url: str, path: str) -> None:
    for token in ("", "x", TOKEN[:-1], "operator.dmlldw.00"):
        answer = get(url, path, token)
        assert (answer.status, set(content(answer))) == (401, {"error"})


@pytest.mark.parametrize("path", DATA)
def test_a_token_of_another_role_is_not_enough(url: str, path: str) -> None:
    assert get(url, path, TOKENS.token(Role.USER, "ann")).status == 403


def test_whoever_has_the_token_sees_the_plan(url: str) -> None:
    assert content(get(url, "/plan", TOKEN)) == {"kind": "fill"}
    assert content(get(url, "/plan/broker/1", TOKEN)) == {"number": 1}
    missing = get(url, "/plan/broker/2", TOKEN)
    assert (missing.status, content(missing)) == (
        404,
        {"error": "there is no such broker"},
    )
    assert get(url, "/page/nothing.js", TOKEN).status == 404
    assert get(url, "/plan/broker/x", TOKEN).status == 404


@pytest.mark.parametrize(
    ("text", "asked"), [("", ""), (" a b ", "a b"), ("東/&", "東/&"), ("x" * 1025, "")]
)
def test_a_search_is_for_a_text_as_long_as_a_name(
    url: str, text: str, asked: str
) -> None:
    found = content(get(url, f"/plan/find?text={quote(text)}", TOKEN))
    assert found["asked"] == asked
