"""The program: command line, settings, composition root, embedded mode."""
