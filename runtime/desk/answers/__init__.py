"""What people say to a request beside yes and no."""
