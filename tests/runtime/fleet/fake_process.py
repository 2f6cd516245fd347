"""A process that is started as those of a fleet are, and then does as it is told.

fake_process.py FOLDER: behaviour is in FOLDER/NAME (obey if there is no such file),
NAME being that of the launch; every start is noted in FOLDER/starts.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path


def announce(launch: dict[str, str]) -> None:
    url = f"http://127.0.0.1:{launch['port'] or 40_000 + os.getpid() % 20_000}"
    ready = {"name": launch["name"], "url": url, "pid": os.getpid()}
    sys.stdout.write(json.dumps(ready) + "\n")
    sys.stdout.flush()


def note(folder: Path, launch: dict[str, str]) -> None:
    with (folder / "starts").open("a") as starts:
        starts.write(json.dumps({**launch, "pid": os.getpid()}) + "\n")


def main() -> None:
    folder = Path(sys.argv[1])
    launch = json.loads(sys.stdin.readline())
    note(folder, launch)
    told = folder / launch["name"]
    behaviour, _, value = (told.read_text() if told.exists() else "obey").partition(" ")
    if behaviour == "fail":
        sys.exit("starting\nthe port is taken\n" if not value else int(value))
    if behaviour == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if behaviour == "talk":
        sys.stdout.write("a word before\n")
    if behaviour != "silent":
        announce(launch)
    if behaviour == "talk":
        sys.stdout.write("out " * 100_000 + "\n")
        sys.stderr.write("err " * 100_000 + "\n")
        sys.stdout.write("all said\n")
        sys.stdout.flush()
    if behaviour == "exit":
        sys.exit(int(value))
    sys.stdin.read()
    if behaviour == "stubborn":
        time.sleep(60)


main()
