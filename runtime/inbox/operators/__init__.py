"""What operators want of a tenant, a letter or a run: put to policy before anything is locked."""
