"""Our own links to requests and runs, and the counter that knows what they lead to."""
