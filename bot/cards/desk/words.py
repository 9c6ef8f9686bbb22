"""What commands say in fixed words."""

HELP = """What you can ask Countersign, for your eyes alone:
/countersign pending: what waits for you
/countersign mine: what you asked for, and how it stands
/countersign show RUN or REQUEST: one of them as it is now, by its id or link
/countersign search WORDS: by business reference, customer or runbook
/countersign why REQUEST: the rule that asks for signatures, in its own words
/countersign figures: how long requests take, for those who lead a group
/countersign request RUNBOOK: a form for what you ask for
/countersign delegate: who votes for you while you are away
/countersign help: this list"""
NOTHING_TO_SEE = "There is no run and no request of that id that you may see."
NO_REQUEST = "There is no request of that id that you may see."
WHICH = "Say which one: /countersign {} and its id, which stands at the bottom of its card."
WHAT_TO_SEARCH = "Say what to search for: /countersign search and a reference, a customer or the name of a runbook."
LEADS_NOBODY = "Only group leads and operators can see figures."
NONE_FOUND = "Nothing that you may see has these words."
NOTHING_ASKED = "You have not asked for anything yet."
NOT_ANSWERED = "Something went wrong on our side, and this could not be answered. Nothing was done. Please try again."
NO_RUNBOOKS = "There is nothing that you may ask for by form. The directory says who may start which runbook."
NO_SUCH_RUNBOOK = "There is no runbook of that name that you may start. You may start: {}."
NO_FORM = "{} cannot be asked for by form: no field can be made of {}."
NO_FORM_HERE = "A form opens by a command or a shortcut: /countersign request, /countersign delegate, or New request."
NOT_OPENED = "The form could not be opened. Nothing was done. Please ask again."
NOT_STARTED = (
    "Something went wrong on our side, and your request may not have been taken. Please submit it again: it is taken "
    "once."
)
STARTED = "Your request is taken. Its run is {}. /countersign mine shows how it stands."
SIGNALED = "A run about the same goes on already, {}, and is told what you entered."
IN_NO_GROUP = "You are in no group, so there is nothing in which somebody could vote for you."
GROUPS_CHANGED = "Your groups have changed since you opened this. Nothing was done. Please ask again."
NOT_THEM = "This person cannot vote for you: they are nobody in Countersign's directory, or no full member here."
NOT_CONFIRMED = "Slack did not confirm this person just now. Nothing was done. Please try again."
NOT_YOURSELF = "You vote for yourself anyway. Please choose somebody else."
OVER_BEFORE = "Please choose a moment that is yet to come, and after the beginning."
WHICH_GROUPS = "Please choose at least one group."
STANDS_IN = "Done: {} votes for you from {} until {}, in {}. An operator, or you, may end it before."
