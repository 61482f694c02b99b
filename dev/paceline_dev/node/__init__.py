"""The local node: pods of a real control plane, run as processes of this machine. Kept empty: the cradle imports it."""
