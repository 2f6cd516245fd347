"""What every process of a fleet needs: to start, stop, log and keep its state."""
