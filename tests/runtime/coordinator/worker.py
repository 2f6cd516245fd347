"""A process that changes a state file without end, until it is killed.

worker.py FILE: prints a number after each change that it has stored. A change is a
broker that registers, or is lost, a user that is placed, and two topics joined.
"""

import sys
from pathlib import Path

from brokerwise.runtime.coordinator import carriers, members, seats
from brokerwise.runtime.coordinator.store import Store
from brokerwise.runtime.protocol.control import BrokerRegistration


def main(path: Path) -> None:
    with Store(path) as store:
        (number,) = store.sql.execute("SELECT count(*) FROM users").fetchone()
        while True:
            number += 1
            broker = f"b{number % 3}"
            with store.change() as sql:
                seats.register_user(sql, f"u{number}", None)
                registration = BrokerRegistration(broker, "ws://here:1", number)
                members.register(sql, registration, number)
                seats.request_broker(sql, f"u{number}", None)
                carriers.join(sql, broker, f"left of {number % 20}")
                carriers.join(sql, broker, f"right of {number % 20}")
                if number % 5 == 0:
                    members.lose(sql, broker, number)
            sys.stdout.write(f"{number}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
