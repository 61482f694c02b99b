"""How many runners a group should have: from what the queue says, what was said before, and the spec."""
