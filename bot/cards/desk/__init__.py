"""What people see who come by a command or a form."""
