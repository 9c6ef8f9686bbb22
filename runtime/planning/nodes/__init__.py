"""How each kind of node starts, and how one in which others stand goes on: pure, one module for each kind."""
