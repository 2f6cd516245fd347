"""Results for people: sentences, tables, plots, reports, and the page of a plan."""
