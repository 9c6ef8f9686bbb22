"""The counter at which people ask what can be taken back, and which runs would stop, before they say so."""
