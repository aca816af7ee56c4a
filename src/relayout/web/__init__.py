"""The explorer: one page in a browser, served from this machine to this machine."""
