"""What our HTTP services share: who may come in, how they listen, their state."""
