"""Work outside the runner's own process, and the guard that ends it when the runner cannot."""
