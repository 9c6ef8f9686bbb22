"""The counter at which people stand who come by a command or a form: what they may see, and what they may start."""
