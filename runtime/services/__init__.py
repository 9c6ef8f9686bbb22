"""What bot, edge, command line and evidence ask of the runtime: one subject a file, its views beside it."""
