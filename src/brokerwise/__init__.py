"""Plans, runs and rebalances publish/subscribe fleets."""

from typing import TYPE_CHECKING

from brokerwise.exports import look_up as __getattr__
from brokerwise.exports import names as __dir__

if TYPE_CHECKING:
    from brokerwise.api import *
    from brokerwise.api import __all__ as __all__
