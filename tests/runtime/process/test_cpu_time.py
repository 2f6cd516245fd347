"""The CPU time of processes and cores."""

import os
import subprocess
import sys
import time

from brokerwise.runtime.process.cpu_time import (
    core_seconds,
    own_seconds,
    process_seconds,
)

BURN = """
import os, sys, time
from brokerwise.runtime.process.launch import set_scheduling
set_scheduling({int(sys.argv[1])}, 19)
child = os.fork()
nice = os.getpriority(os.PRIO_PROCESS, 0)
os.write(1, f"{os.sched_getaffinity(0)} {nice}\\n".encode())
end = time.process_time() + 0.2
while time.process_time() < end:
    pass
if child:
    os.write(1, b"done\\n")
sys.stdin.read()
"""


def test_a_process_takes_its_place_and_its_processor_time_is_seen() -> None:
    core = min(os.sched_getaffinity(0))
    command = [sys.executable, "-c", BURN, str(core)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        lines = [process.stdout.readline().strip() for _ in range(3)]
        assert sorted(lines) == ["done", *2 * [f"{{{core}}} 19"]]
        while process_seconds(process.pid) < 0.4:  # its child's part, too
            assert process.poll() is None
        assert core_seconds([core]) >= 0.4
        process.stdin.close()
        process.stdout.close()


def test_living_descendants_count_as_ones_own() -> None:
    burn = "import os, sys, time\nos.fork()\n"
    burn += "while time.process_time() < 0.2: pass\nsys.stdin.read()"

    def of_others() -> float:
        return own_seconds() - time.process_time()

    before = of_others()
    command = [sys.executable, "-c", burn]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        while of_others() - before < 0.35:
            assert process.poll() is None
        process.stdin.close()


def test_a_process_that_has_ended_uses_nothing() -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    assert process_seconds(process.pid) == 0.0
