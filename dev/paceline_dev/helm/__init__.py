"""helm, to render, lint and install our charts with what their users have."""
