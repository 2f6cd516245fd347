"""Column generation over what a broker may carry, with branch and bound."""
