"""Hours of ordinary trouble, and whether anything grows that should not."""
