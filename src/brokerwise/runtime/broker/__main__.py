"""python -m brokerwise.runtime.broker: started by `brokerwise up` and `join`."""

import sys

from brokerwise.runtime.broker.process import main

if __name__ == "__main__":
    sys.exit(main())
