"""The HTTP and WebSocket front door of Paceline."""
