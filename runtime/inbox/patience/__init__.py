"""What happens to a wait before it ends: others are asked, those who are asked are reminded, time is given."""
