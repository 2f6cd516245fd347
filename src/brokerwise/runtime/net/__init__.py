"""HTTP and WebSocket, server and client side."""
