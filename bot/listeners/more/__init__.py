"""What people choose in the menu "More" of a request, an act in a module."""
