"""Taxis that tell where they are, and hear how it is around them."""
