"""Runners that dial out: by long poll or by WebSocket, as docs/reference/runner-protocol.md says."""
