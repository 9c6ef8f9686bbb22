"""Runs the migrations on the connection that ``migrate`` hands over."""

from alembic import context

from runtime.store.schema.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, transactional_ddl=True)
with context.begin_transaction():
    context.run_migrations()
