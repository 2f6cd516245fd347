"""The client library: subscribe, publish, and follow routes and moves."""
