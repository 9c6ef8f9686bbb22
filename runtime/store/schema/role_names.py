"""The database's roles by their names. What each may do with a table, the table's declaration says."""

OWNER, PROGRAM, DIRECTORY = "countersign_owner", "countersign_program", "countersign_directory"
READER = "countersign_reader"
ROLES = (OWNER, PROGRAM, DIRECTORY, READER)

REFRESH_USERGROUPS = "refresh_usergroups"
POLICY_IN_FORCE = "policy_in_force"
CALLERS = {REFRESH_USERGROUPS: (PROGRAM, DIRECTORY), POLICY_IN_FORCE: (PROGRAM,)}
"""Functions that are called by name, and the roles that may call them."""
