"""Plans, runs and rebalances publish/subscribe fleets."""

from brokerwise.api import *
from brokerwise.api import __all__ as __all__
