"""The signed index of every run of a period, with who approved what: written and verified."""
