"""Connections, buffered writes, shared round trips, migrations, roles and signals of PostgreSQL."""
