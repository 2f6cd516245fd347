"""From message history to a network: what is published and wanted where."""
