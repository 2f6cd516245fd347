"""Who has been heard of lately. No clock: every call is told the time, in seconds."""

from brokerwise.runtime.protocol.limits import LEASE_SECONDS


class Leases:
    """A broker that has not been heard of for `lease_seconds` has lapsed.

    Whoever asks must do so about every `sweep_seconds`. If it did not, this process
    was itself frozen, could hear nobody, and everyone gets a new lease.
    """

    def __init__(
        self, lease_seconds: float = LEASE_SECONDS, sweep_seconds: float = 0.25
    ) -> None:
        self._lease = lease_seconds
        self._patience = max(4 * sweep_seconds, lease_seconds / 2)
        self._heard: dict[str, float] = {}
        self._swept: float | None = None

    def renew(self, broker: str, now: float) -> None:
        self._heard[broker] = now

    def end(self, broker: str) -> None:
        """The broker has no lease any more; it never lapses."""
        self._heard.pop(broker, None)

    def lapsed(self, now: float) -> list[str]:
        """Those whose lease is over, by name. They stay so until renewed or ended."""
        if self._swept is not None and now - self._swept > self._patience:
            self._heard = dict.fromkeys(self._heard, now)
        self._swept = now
        return sorted(b for b, at in self._heard.items() if now - at > self._lease)
