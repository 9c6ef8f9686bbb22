"""Pictures of everything that people see of Countersign, of samples: `python -m tools.gallery FOLDER`."""
