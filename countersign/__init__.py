"""The program: `serve`, settings, what is built from them (the composition root), and the directory file."""
