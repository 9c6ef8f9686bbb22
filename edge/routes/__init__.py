"""One file for each resource of the edge, and the pages for passkeys and links."""
