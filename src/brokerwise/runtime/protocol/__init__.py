"""What goes over the wire: frames and bodies, names, limits, order, tokens."""
