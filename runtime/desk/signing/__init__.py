"""The counter at which the bot asks for a link to sign with a passkey."""
