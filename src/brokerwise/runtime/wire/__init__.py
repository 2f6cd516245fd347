"""Bytes on a socket: one port for HTTP and WebSocket, and the other end of both."""
