"""The reference pages that are tables of what the code has: each is generated, so that none can drift."""
