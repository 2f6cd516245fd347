"""The names of the package, loaded when one of them is asked for.

A broker or a client imports a few modules of the package and none of the rest; the
whole Python API, with numpy and pyarrow under it, would take it a quarter of a second
and 50 MB. So no folder of the package may have the name of something in the API.
"""

from typing import Any


def look_up(name: str) -> Any:
    """What `brokerwise.name` is: Python asks this for what the package lacks."""
    import brokerwise.api

    if name == "__all__" or name in brokerwise.api.__all__:
        return getattr(brokerwise.api, name)
    raise AttributeError(f"module 'brokerwise' has no attribute {name!r}")


def names() -> list[str]:
    """What `dir(brokerwise)` shows."""
    import brokerwise.api

    return list(brokerwise.api.__all__)
