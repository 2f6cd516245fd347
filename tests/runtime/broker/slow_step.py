"""A step whose module is not loaded for a long time."""

import time

time.sleep(60)
