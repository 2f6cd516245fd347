"""python -m brokerwise.runtime.coordinator: started by `brokerwise up`."""

import sys

from brokerwise.runtime.coordinator.process import main

if __name__ == "__main__":
    sys.exit(main())
