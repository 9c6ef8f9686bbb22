"""Where the app is: its installation by OAuth, its life there, and which of the places a request is for."""
