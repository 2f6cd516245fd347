"""Independent checks of a plan: trusts nothing, recomputes everything."""
