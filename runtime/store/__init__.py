"""Everything that is stored: the tables, and every SQL statement of the project. Functions here never commit."""
