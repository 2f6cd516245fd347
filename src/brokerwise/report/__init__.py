"""One-file HTML reports and their plots."""
