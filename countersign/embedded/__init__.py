"""Everything on this machine: servers, supervisor, demo."""
