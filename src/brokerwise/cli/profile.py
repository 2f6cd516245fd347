"""`brokerwise profile`."""


def profile() -> None:
    """Placeholder."""
