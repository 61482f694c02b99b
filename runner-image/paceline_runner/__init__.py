"""The process in every runner pod: claims, executes, drains."""
