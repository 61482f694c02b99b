"""The world outside as it is: the only operator code that knows a client library."""
