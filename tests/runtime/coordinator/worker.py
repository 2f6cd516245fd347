"""A process that changes a state file without end, until it is killed.

worker.py FILE: prints a number after each change that it has stored. A change is a
broker that registers, or is lost, a user that is placed, and two topics joined.
"""

import logging
import sys
from pathlib import Path

from brokerwise.runtime.coordinator import leases, routes, sessions
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.protocol.fleet import BrokerRegistration


def main(path: Path) -> None:
    logging.disable()  # only the numbers are to be read
    with Store(path) as store:
        (number,) = store.sql.execute("SELECT count(*) FROM users").fetchone()
        while True:
            number += 1
            broker = f"b{number % 3}"
            with store.change() as sql:
                sessions.register_user(sql, f"u{number}", None)
                registration = BrokerRegistration(broker, "ws://here:1", number)
                leases.register(sql, registration, number)
                sessions.request_broker(sql, f"u{number}", None)
                routes.join(sql, broker, f"left of {number % 20}")
                routes.join(sql, broker, f"right of {number % 20}")
                if number % 5 == 0:
                    leases.lose(sql, broker, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
