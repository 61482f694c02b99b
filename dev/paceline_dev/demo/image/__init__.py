"""What the demo's runners are made of: a module for processes, an image for pods."""
