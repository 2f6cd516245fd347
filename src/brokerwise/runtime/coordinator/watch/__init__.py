"""The fleet as operators watch it: what is remembered, asked for and sent to them."""
