"""What breaks first far beyond one machine, computed from the committed results."""
