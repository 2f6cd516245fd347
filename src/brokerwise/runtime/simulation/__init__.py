"""The balancer on a fleet that is only computed, in time that is only counted."""
