"""The shapes of published traces, as distributions to draw from."""
