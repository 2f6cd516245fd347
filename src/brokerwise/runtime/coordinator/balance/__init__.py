"""The balance of a running fleet: loads, proposals, approval, moves."""
