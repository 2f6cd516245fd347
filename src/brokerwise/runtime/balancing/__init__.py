"""When sessions move, live and simulated: events in, commands out; no I/O."""
