"""How the workspace reaches the app: by HTTP, or by a socket."""
