"""What admins of a workspace do: let an app in or out, archive channels, deactivate people."""
