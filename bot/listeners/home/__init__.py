"""What people do on their Home tab."""
