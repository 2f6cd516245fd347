"""Clients in other languages, written from docs/protocol.md, against a real broker."""

import shutil
from pathlib import Path

import pytest
from tests.processes import Process, wait_until
from tests.runtime.live import LiveFleet

JAVA = Path(__file__).parents[2] / "examples" / "clients" / "Subscriber.java"

pytestmark = pytest.mark.skipif(
    shutil.which("javac") is None, reason="there is no Java compiler (JDK 17 or newer)"
)


def subscriber(
    fleet: LiveFleet, user: str, token: str, topic: str, count: int, *texts: str
) -> Process:
    quick = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]  # it compiles, then runs
    words = ["-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8"]
    program = ["java", *quick, *words, str(JAVA)]
    where = [fleet.coordinator, user, token, topic, str(count)]
    return Process([*program, *where, *texts])


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


def test_a_client_in_java_is_told_of_a_wrong_token(two_brokers: LiveFleet) -> None:
    with subscriber(two_brokers, "joe", "user.am9l.00", "java", 1) as client:
        assert client.wait(30) == 1
    assert any("401" in line for line in client.lines)
