"""The bench of the gateway."""
