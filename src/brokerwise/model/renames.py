"""Fields of JSON objects that had another name in the version before.

Older coordinators, state files and results say the old names. They are read until the
next minor version; what is written has the new ones.
"""

from typing import Any

RENAMED = {"mind": "balancer_status", "wishes": "options"}


def with_new_names(content: Any) -> Any:
    """An object with its own fields under their new names; anything else as it is.

    Fields of objects inside are left alone: they may be names that users chose.
    """
    if not isinstance(content, dict):
        return content
    return {RENAMED.get(name, name): value for name, value in content.items()}
