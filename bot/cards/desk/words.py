"""What commands say in fixed words."""

HELP = """What you can ask Countersign, for your eyes alone:
/countersign pending: what waits for you
/countersign mine: what you asked for, and how it stands
/countersign show RUN or REQUEST: one of them as it is now
/countersign search WORDS: by business reference, customer or runbook
/countersign why REQUEST: the rule that asks for signatures, in its own words
/countersign help: this list"""
NOTHING_TO_SEE = "There is no run and no request of that id that you may see."
NO_REQUEST = "There is no request of that id that you may see."
WHICH = "Say which one: /countersign {} and its id, which stands at the bottom of its card."
WHAT_TO_SEARCH = "Say what to search for: /countersign search and a reference, a customer or the name of a runbook."
NONE_FOUND = "Nothing that you may see has these words."
NOTHING_ASKED = "You have not asked for anything yet."
NOT_ANSWERED = "Something went wrong on our side, and this could not be answered. Nothing was done. Please try again."
