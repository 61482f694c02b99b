"""What the operator wants of the world outside, as Protocols; the adapters keep these promises."""
