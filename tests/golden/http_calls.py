"""Calls over HTTP, one after the other on a fleet that nobody else uses.

Each function notes requests and answers; their order is part of the golden files.
"""

import json
from typing import Any

from tests.golden.fleet import Fleet, ask
from tests.golden.forms import series, shape
from tests.processes import wait_until

SECONDS = 30.0
ROLES = ("nobody", "user", "broker", "operator")
BROKERS_MOST = 16 << 20  # bytes of a body of theirs
MOST = 1 << 20  # and of everybody else's


def coordinator_calls(fleet: Fleet) -> dict[str, Any]:
    call = fleet.calls(fleet.coordinator)
    _open_pages(call)
    answer = call("operator", "POST /registeruser", {"user": "ann", "x": 2.5, "y": 1})
    fleet.tokens["ann"] = answer["token"]
    fleet.tokens["bob"] = fleet.token("bob")
    call("operator", "GET /status", note="before anything")
    call("operator", "GET /topics")
    call("ann", "GET /subchannels")
    _as_a_broker(call)
    call("bob", "POST /routes", {"topics": ["news"]})
    user = {"user": "ann", "topics": ["news"]}
    place = call("ann", "POST /requestbroker", user)["sessions"][0]["broker"]
    _moves(call, place)
    _drain(call, fleet)
    _balance(call)
    _look(call)
    _refusals(call)
    return call.noted


def _open_pages(call: Any) -> None:
    for path in ("/health", "/docs", "/openapi.json", "/"):
        call("nobody", f"GET {path}")
        if path == "/openapi.json":
            del call.noted[f"GET {path}"]["answer"]  # it has a golden file of its own


def _as_a_broker(call: Any) -> None:
    """One that is up for a moment, and that nobody can reach."""
    named = {"broker": "guest", "url": "ws://127.0.0.1:1", "pid": 1}
    epoch = call("broker", "POST /registerbroker", named)["epoch"]
    counts = {"sessions": 0, "topics": 1, "received": 0, "delivered": 0}
    report = {"broker": "guest", **counts, "load_per_second": 0.0}
    call("broker", "POST /heartbeat", {**report, "epoch": epoch})
    old = {**report, "epoch": 0}
    call("broker", "POST /heartbeat", old, note="of an epoch that was given up")
    join = {"broker": "guest", "topics": ["art", "news"], "leave": ["art"]}
    call("broker", "POST /join", {**join, "epoch": epoch})
    refused = {**join, "epoch": 0}
    call("broker", "POST /join", refused, note="of an epoch that was given up")
    call("broker", "POST /leaving", {"broker": "guest", "epoch": epoch})


def _moves(call: Any, place: str) -> None:
    """Of a user who is not connected: the session moves at once."""
    other = {"b0": "b1", "b1": "b0"}[place]
    move = {"user": "ann", "from": place, "to": other}
    number = call("operator", "POST /moves", move)["id"]

    def is_over() -> bool:
        call.noted.pop("GET /moves/{id}", None)
        found = call("operator", f"GET /moves/{number}")
        call.noted["GET /moves/{id}"] = call.noted.pop(f"GET /moves/{number}")
        return found["state"] not in ("requested", "accepted")

    wait_until(is_over, SECONDS)
    call("operator", "GET /moves")
    call("operator", "GET /moves?state=failed&limit=1")
    call("operator", "GET /moves/999", note="there is none")
    call("operator", "GET /moves/x", note="no number")
    call("operator", "GET /moves?limit=0", note="too few")
    unknown = {**move, "user": "zoe"}
    call("operator", "POST /moves", unknown, note="of nobody")
    nowhere = {**move, "to": "b9"}
    call("operator", "POST /moves", nowhere, note="to no broker")


def _drain(call: Any, fleet: Fleet) -> None:
    call("operator", "POST /drain", {"broker": "b1", "then": "stay"})
    wait_until(lambda: fleet.brokers()["b1"]["state"] == "drained", SECONDS)
    call("operator", "POST /activate", {"broker": "b1"})
    call("operator", "POST /activate", {"broker": "b1"}, note="not drained")
    call("operator", "POST /activate", {"broker": "b9"}, note="unknown")
    call("operator", "POST /drain", {"broker": "b9"}, note="unknown")
    call("operator", "POST /drain", {"broker": "guest"}, note="it has left")
    call("operator", "POST /drain", {"broker": "b1", "then": "no"}, note="no such end")


def _balance(call: Any) -> None:
    call("operator", "GET /balance")
    call("operator", "POST /balance/plan", {"policy": "ldm", "max_moves": 1})
    call("operator", "POST /balance/plan", {"policy": "best"}, note="no such policy")
    call("operator", "GET /balance/decisions?limit=10")
    call("operator", "GET /balance/decisions/1")
    call("operator", "GET /balance/decisions/999", note="there is none")
    call("operator", "POST /balance/approve", {"digest": "abcdef"}, note="unknown")
    call("operator", "POST /balance/approve", {"digest": "xyz"}, note="no digest")
    call("operator", "POST /balance/pause")
    automatic = {"automatic": True, "every_seconds": 1000.0, "confirm": 3}
    call("operator", "POST /balance/mode", automatic)
    call("operator", "POST /balance/mode", {"automatic": False}, note="manual")
    call("operator", "POST /balance/resume")
    call("operator", "GET /balance/wanted")


def _look(call: Any) -> None:
    call("operator", "GET /watch/broker/b0")
    call("operator", "GET /watch/broker/b9", note="unknown")
    call("operator", "GET /watch/find?text=n")
    call("operator", "GET /watch/find", note="without a text")
    call("operator", "GET /watch")
    call("operator", "GET /metrics")
    call("operator", "GET /status")


def _refusals(call: Any) -> None:
    call("ann", "POST /requestbroker", {"user": "bob"}, note="for somebody else")
    call("operator", "POST /registeruser", b"{", note="not JSON")
    call("operator", "POST /registeruser", {"user": "a\nb"}, note="no name")
    call("operator", "POST /registeruser", {"user": "a", "x": 1.0}, note="half a place")
    call("operator", "POST /registeruser", note="too long", length=MOST + 1)
    call("broker", "POST /join", note="too long", length=BROKERS_MOST + 1)
    call("operator", "GET /nowhere")
    call("nobody", "GET /nowhere", note="nobody")
    call("operator", "DELETE /status")
    call("ann", "GET /status", note="as a user")


def who_may_call(fleet: Fleet, url: str, calls: list[str]) -> dict[str, Any]:
    """The status of each call for each role; a body that nobody can read says who
    was let in, with 422, and does nothing."""
    tokens = {**fleet.tokens, "user": fleet.tokens["ann"], "nobody": ""}
    found: dict[str, Any] = {}
    for call in calls:
        method, path = call.split(" ")
        path = path.replace("{id}", "999").replace("{number}", "999")
        path = path.replace("{name}", "none").replace("{dataset}", "none")
        body = None if method == "GET" else b"["
        found[call] = {
            role: ask(f"{url}{path}", tokens[role], body, method).status
            for role in ROLES
        }
    return found


def broker_calls(fleet: Fleet) -> dict[str, Any]:
    """Those of one broker, on which ann has a session."""
    brokers = fleet.brokers()
    call = fleet.calls("http" + brokers["b0"]["url"].removeprefix("ws"))
    call("nobody", "GET /health")
    for page in ("/load", "/sessions", "/balance", "/metrics"):
        call("broker", f"GET {page}")
    message = {"topic": "news", "epoch": 1, "seq": 1, "data": {"a": 1}, "at": 1.5}
    call("bob", "POST /publish", message)
    call("bob", "POST /publish", {**message, "source": "bob/2"}, note="as bob/2")
    call("bob", "POST /publish", {**message, "source": "ann"}, note="as ann")
    call("bob", "POST /publish", {**message, "topic": "a\nb"}, note="no name")
    call("bob", "POST /publish", {**message, "seq": 0}, note="no seq")
    call("bob", "POST /publish", b"{", note="not JSON")
    call("bob", "POST /publish", {**message, "topic": "channel/near"}, note="a channel")
    record = {**message, "topic": "dataset/fires"}
    call("bob", "POST /publish", record, note="to a dataset")
    call("bob", "POST /publish", note="too long", length=MOST + 1)
    call("nobody", "POST /publish", message, note="nobody")
    call("operator", "POST /publish", message, note="an operator")
    address = {"broker": "b1", "url": brokers["b1"]["url"]}
    route = {"topic": "golden", "generation": 1, "brokers": [address], "feeder": ""}
    call("broker", "POST /control/routes", {"routes": [route]})
    call("broker", "POST /control/routes", {"routes": 1}, note="no routes")
    order = {"move": 900, "step": "request_to_move", "user": "zoe", "to": address}
    call("broker", "POST /control/move", {**order, "topics": None})
    call("broker", "POST /control/move", {**order, "move": "x"}, note="no number")
    news = {"channelName": "near", "subscriptionIds": [1]}
    time = {"channelExecutionTime": "2026-01-01", "channelExecutionEpochTime": 1.5}
    call("broker", "POST /notify", {**news, **time})
    call("broker", "POST /notify", {"channelName": "near"}, note="of nothing")
    call("broker", "POST /control/stop", {"restart": "x"}, note="no boolean")
    call("broker", "GET /nowhere")
    call("broker", "GET /publish", note="the wrong method")
    call("ann", "GET /load", note="as a user")
    return call.noted


def overlay_calls(fleet: Fleet) -> dict[str, Any]:
    """What is different in a fleet that runs an overlay plan; the keys and types of
    it, as names and numbers are the plan's."""
    operator, broker = fleet.tokens["operator"], fleet.tokens["broker"]
    url = fleet.coordinator
    name, about = next(iter(fleet.brokers().items()))
    page = "http" + about["url"].removeprefix("ws")
    again = {"broker": name, "url": about["url"], "pid": about["pid"]}
    answers = {
        "GET /subchannels": ask(f"{url}/subchannels", operator),
        "GET /topics": ask(f"{url}/topics", operator),
        "GET /load (of a broker)": ask(f"{page}/load", broker),
        "POST /registerbroker": ask(f"{url}/registerbroker", broker, again),
    }
    return {call: _by_any_name(shape(got.json)) for call, got in answers.items()}


def _by_any_name(found: Any) -> Any:
    """What is there by the names of topics, users or brokers, once, under `*`."""
    if isinstance(found, list):
        return [_by_any_name(each) for each in found]
    if not isinstance(found, dict):
        return found
    return {
        key: {"*": next(iter(each.values()))}
        if key in ("topics", "users", "links") and isinstance(each, dict) and each
        else _by_any_name(each)
        for key, each in found.items()
    }


def stop_call(fleet: Fleet) -> dict[str, Any]:
    """The last one: a broker that is told to restart."""
    call = fleet.calls("http" + fleet.brokers()["b0"]["url"].removeprefix("ws"))
    call("broker", "POST /control/stop", {"restart": True})
    return call.noted


def data_calls(fleet: Fleet) -> dict[str, Any]:
    call = fleet.calls(fleet.data_cluster)
    for path in ("/health", "/docs", "/openapi.json"):
        call("nobody", f"GET {path}")
    del call.noted["GET /openapi.json"]["answer"]
    call("operator", "GET /datasets", note="of an earlier fleet")
    call("operator", "GET /channels", note="of an earlier fleet")
    _datasets(call)
    _channels(call)
    _as_a_broker_of_channels(call)
    call("operator", "GET /status")
    call("operator", "GET /metrics")
    call("operator", "GET /nowhere")
    return call.noted


def _datasets(call: Any) -> None:
    columns = [{"name": "n", "type": "long"}, {"name": "at", "type": "timestamp"}]
    made = {"name": "notes", "kind": "append", "columns": columns}
    call("operator", "POST /createdataset", made)
    call("operator", "POST /createdataset", made, note="there already")
    call("operator", "POST /createdataset", {**made, "kind": "heap"}, note="no kind")
    lines = [{"n": 1, "at": "2026-01-01T00:00:00Z"}, {"n": 1.5}, {"n": 2, "at": None}]
    body = "\n".join(map(json.dumps, lines)).encode()
    call("bob", "POST /feed/notes?batch=one", body)
    call("bob", "POST /feed/notes?batch=one", body, note="again")
    call("bob", "POST /feed/none", body, note="no dataset")
    call("bob", "POST /feed/notes", note="too long", length=(16 << 20) + 1)
    call("operator", "GET /datasets/notes")
    call("operator", "GET /datasets/none")
    call("operator", "POST /dropdataset", {"name": "notes"})
    call("operator", "POST /dropdataset", {"name": "notes"}, note="not there")
    call("operator", "POST /dropdataset", {"name": "fires"}, note="a channel reads it")
    call("operator", "POST /dropdataset", note="too long", length=MOST + 1)


def _channels(call: Any) -> None:
    for name in ("near", "far", "none"):
        call("operator", f"GET /channels/{name}")
    made = {"name": "near", "sql": "SELECT 1", "period": 10.0, "parameters": []}
    call("operator", "POST /createchannel", made, note="there already")
    often = {**made, "name": "often", "period": 0.1}
    call("operator", "POST /createchannel", often, note="too often")
    call("operator", "POST /dropchannel", {"name": "far"})
    call("operator", "POST /dropchannel", {"name": "far"}, note="not there")


def _as_a_broker_of_channels(call: Any) -> None:
    named = {"broker": "guest", "epoch": 1}
    here, there = "channel/near?place=here", "channel/near?place=there"
    call("broker", "POST /createbroker", {**named, "url": "http://127.0.0.1:1"})
    wanted = [
        {"user": "gus", "topic": there},
        {"user": "gus", "topic": here, "cursor": [1, 1]},
        {"user": "gus", "topic": "channel/none", "latest": True},
    ]
    call("broker", "POST /subscribe", {**named, "wanted": wanted})
    pulls = [{"subscription": 1, "after": 1}, {"subscription": 9, "after": 0}]
    call("broker", "POST /results", {**named, "pulls": pulls})
    seen = {"user": "gus", "subscription": 1, "seq": 2}
    offline = [{"user": "gus", "topic": there}]
    acknowledged = {"seen": [seen], "offline": offline, "serving": [seen]}
    call("broker", "POST /acknowledge", {**named, **acknowledged})
    ended = [{"user": "gus", "topic": topic} for topic in (here, there)]
    call("broker", "POST /unsubscribe", {**named, "ended": ended})
    old = {"broker": "guest", "epoch": 0}
    lists = {"subscribe": "wanted", "unsubscribe": "ended", "results": "pulls"}
    for path, name in lists.items():
        call("broker", f"POST /{path}", {**old, name: []}, note="of an old epoch")
    call("broker", "POST /acknowledge", old, note="of an old epoch")
    url = {"url": "http://127.0.0.1:1"}
    call("broker", "POST /createbroker", {**old, **url}, note="of an old epoch")
    call("broker", "POST /createbroker", {**named, "url": "ws://h"}, note="no address")


def metrics(fleet: Fleet) -> dict[str, Any]:
    broker = "http" + fleet.brokers()["b0"]["url"].removeprefix("ws")
    places = {
        "coordinator": (fleet.coordinator, "operator"),
        "data cluster": (fleet.data_cluster, "operator"),
        "broker": (broker, "broker"),
    }
    return {
        name: series(ask(f"{url}/metrics", fleet.tokens[role]).body.decode())
        for name, (url, role) in places.items()
    }
