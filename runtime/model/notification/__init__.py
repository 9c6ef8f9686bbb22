"""What comes in: notifications, and what each kind of them says."""
