"""What people see: pure functions from views to blocks."""
