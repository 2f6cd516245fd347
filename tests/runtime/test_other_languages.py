"""Clients in other languages, written from docs/protocol.md, against a real broker."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest
from tests.processes import Process, wait_until
from tests.runtime.live import LiveFleet
from tests.runtime.protocol_page import blocks

JAVA = Path(__file__).parents[2] / "examples" / "clients" / "Subscriber.java"

needs_java = pytest.mark.skipif(
    shutil.which("javac") is None, reason="there is no Java compiler (JDK 17 or newer)"
)


def node_version() -> int:
    """0 without Node."""
    if shutil.which("node") is None:
        return 0
    said = subprocess.run(["node", "--version"], capture_output=True, text=True)
    return int(said.stdout.strip().removeprefix("v").partition(".")[0] or 0)


def subscriber(
    fleet: LiveFleet, user: str, token: str, topic: str, count: int, *texts: str
) -> Process:
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # it compiles, then runs
    words = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    program = ["java", *quick, *words, str(JAVA)]
    where = [fleet.coordinator, user, token, topic, str(count)]
    return Process([*program, *where, *texts])


@needs_java
def test_a_client_in_java_hears_itself_and_others(two_brokers: LiveFleet) -> None:
    token = two_brokers.token("jan")
    texts = ["one", 'two "quoted" \N{SNOWMAN}']
    with subscriber(two_brokers, "jan", token, "java", 4, *texts) as client:
        client.line_with("message jan 2")
        url = two_brokers.broker("jan", token)
        two_brokers.publish(url, "java", 1, [1, None])
        two_brokers.publish(url, "java", 3, [3, None])
        assert client.wait(30) == 0
    assert client.lines == [
        "subscribed [java]",
        "message jan 1 one",
        'message jan 2 two "quoted" \N{SNOWMAN}',
        "message bob 1 [1, null]",
        "gap of 1",
        "message bob 3 [3, null]",
        "closed 1000 goodbye",
    ]


@needs_java
def test_a_client_in_java_acknowledges_everything(two_brokers: LiveFleet) -> None:
    token = two_brokers.token("joe")
    texts = [str(number) for number in range(300)]
    with subscriber(two_brokers, "joe", token, "many", 301, *texts) as client:
        client.line_with("message joe 300 ")
        url = two_brokers.broker("joe", token)
        wait_until(lambda: two_brokers.session(url, "joe")["acknowledged"] == 300, 20)
        two_brokers.publish(url, "many", 1, "the last one")
        assert client.wait(30) == 0
    heard = [line for line in client.lines if line.startswith("message joe")]
    assert heard == [f"message joe {n + 1} {n}" for n in range(300)]


@needs_java
def test_a_client_in_java_is_told_of_a_wrong_token(two_brokers: LiveFleet) -> None:
    with subscriber(two_brokers, "joe", "user.am9l.00", "java", 1) as client:
        assert client.wait(30) == 1
    assert any("401" in line for line in client.lines)


@pytest.mark.skipif(node_version() < 20, reason="there is no Node 20 or newer")
def test_the_lines_for_a_browser_run_in_node(two_brokers: LiveFleet) -> None:
    token = two_brokers.token("nora")
    url = two_brokers.broker("nora", token)
    where = json.dumps([url, "nora", token, ["node"]])[1:-1]
    show = "({source, data}) => console.log(`${source}: ${data}`)"
    program = f"{blocks('javascript')[0]}\nsubscribe({where}, {show}, console.log);"
    switch = ["--experimental-websocket"] if node_version() < 22 else []
    with Process(["node", *switch, "-e", program]) as client:
        wait_until(lambda: two_brokers.session(url, "nora") is not None, 20)
        wait_until(lambda: "node" in two_brokers.session(url, "nora")["topics"], 20)
        two_brokers.publish(url, "node", 1, "rain")
        client.line_with("bob: rain", 20)
