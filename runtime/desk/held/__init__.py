"""The counters at which people, by whatever way, say how a held step goes on."""
