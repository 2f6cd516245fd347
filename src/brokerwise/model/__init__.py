"""What is wanted, what may carry it, and the answer: data and its rules."""
