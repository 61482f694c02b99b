"""The docs site: pages of the repository, laid out for MkDocs, and a look at what it has made of them."""
