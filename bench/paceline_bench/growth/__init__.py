"""The bench of growth: what one call costs as what it works beside grows by tens."""
