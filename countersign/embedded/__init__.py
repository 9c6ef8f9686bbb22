"""Everything on this machine: the servers, their supervisor, the stand-ins of packs, and the demo."""
