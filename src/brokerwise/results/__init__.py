"""Plans as plain data: what `--json` prints, what reports and pages are made from."""
