"""Our own images, built from the tree at hand: with a registry or without one, never with a network in the build."""
