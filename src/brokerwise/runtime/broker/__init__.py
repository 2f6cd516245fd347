"""A broker: sessions, topics, and the process that carries them."""
