"""Every SQL statement of the project: one file for each table or use of several. Functions here never commit."""
