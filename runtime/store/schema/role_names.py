"""The database's roles by their names. What each may do with a table, the table's declaration says."""

OWNER, PROGRAM, DIRECTORY = "countersign_owner", "countersign_program", "countersign_directory"
READER = "countersign_reader"
ROLES = (OWNER, PROGRAM, DIRECTORY, READER)

REFRESH_USERGROUPS = "refresh_usergroups"
CALLERS = {REFRESH_USERGROUPS: (PROGRAM, DIRECTORY)}
"""Functions that do with their owner's rights what their callers have no right to, and who these are."""
