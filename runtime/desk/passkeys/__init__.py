"""The counter at which people sign with a passkey, and register one: by a link that is used once."""
