"""Where bundles are kept: a bucket or a folder."""
