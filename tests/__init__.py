"""The tests: unit, integration, acceptance and faults, on real servers."""

import os
import sys

# Where Python is kept from writing bytecode, each of the some hundred processes of a run compiles everything anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
