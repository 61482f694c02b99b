"""The small processes between a node and its containers; they import nothing beyond the standard library."""
