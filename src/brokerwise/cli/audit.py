"""`brokerwise audit`."""


def audit() -> None:
    """Placeholder."""
