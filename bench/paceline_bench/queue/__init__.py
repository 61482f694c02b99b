"""The bench of the queue itself, beside the SQL that it is made of and beside its peers."""
