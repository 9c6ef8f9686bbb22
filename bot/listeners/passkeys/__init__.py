"""What clicks and commands do about passkeys."""
