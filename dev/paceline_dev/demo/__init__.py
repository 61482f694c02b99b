"""The demo: the whole story of a runner pool on this machine, with real processes, told in steps and measured."""
