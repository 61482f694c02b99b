"""All results on one page, and peers beside them."""
