"""Settings, the directory file, logs, errors."""
