"""Which sessions of a running fleet shall move (Nguyen et al., DEBS 2019)."""
