"""A release: everything that users install, made from one commit so that whoever makes it again gets the same bytes."""
