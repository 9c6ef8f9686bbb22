"""Migrations: numbered steps of plain SQL, and the schema that they make."""
