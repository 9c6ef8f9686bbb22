"""Expressions: Common Expression Language, with bounds."""

import sys
from types import ModuleType

# The library brings its command line along, and with that a tenth of what a process needs to start. We want none of it.
sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))
