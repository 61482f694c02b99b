"""A real kind cluster: on the user's Docker, or on a machine that has neither an engine nor an image registry."""
