"""Connections, migrations and signals of PostgreSQL."""
