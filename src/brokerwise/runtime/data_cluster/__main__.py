"""python -m brokerwise.runtime.data_cluster: started by `brokerwise up`."""

import sys

from brokerwise.runtime.data_cluster.process import main

if __name__ == "__main__":
    sys.exit(main())
