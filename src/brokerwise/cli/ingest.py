"""`brokerwise ingest`."""


def ingest() -> None:
    """Placeholder."""
