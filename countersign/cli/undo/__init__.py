"""What people take back from the command line: runs that are to stop, and what runs have done."""
