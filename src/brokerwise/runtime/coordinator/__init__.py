"""The coordinator: who is in the fleet, who is served where, who carries what."""
