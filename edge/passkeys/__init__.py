"""The pages on which people sign with a passkey, or register one: each behind a link that is used once."""
