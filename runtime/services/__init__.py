"""What bot, edge, command line and evidence ask of the runtime, one subject a file; audits, and places in the log."""
