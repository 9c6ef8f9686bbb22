"""The gallery of the console: every page in a real Chromium, as each role, with axe-core, and every act."""
