"""The papers' experiments, ours beside theirs: run, checked, kept and shown."""
