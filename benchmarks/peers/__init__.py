"""The peers: each in the environment that `environment` makes for it, and driven as its own documentation says."""
