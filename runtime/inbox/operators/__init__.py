"""What operators want: put to policy before anything is locked."""
