"""Commands, one after the other, on one Spark session, whose start takes longest.

Arguments: the master, the settings as a JSON object, each command as a JSON list.
"""

import json
import sys

from brokerwise.cli.main import run
from brokerwise.pipeline.session import start_session


def main(master: str, settings: str, *commands: str) -> int:
    """The exit code of the first command that fails, else 0."""
    session = start_session(master, json.loads(settings))
    try:
        return next(filter(None, (run(json.loads(one)) for one in commands)), 0)
    finally:
        session.stop()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
