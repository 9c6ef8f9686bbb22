"""What commands say in fixed words."""

HELP = """Commands; only you see the answers:
/countersign pending: requests waiting for you
/countersign mine: your requests and their status
/countersign show ID or LINK: a run or request as it is now
/countersign search WORDS: runs by reference, customer or runbook
/countersign why ID: the policy rule that requires signatures
/countersign figures: how long requests take (group leads and operators)
/countersign request RUNBOOK: open a request form
/countersign delegate: choose who votes for you while you are away
/countersign help: this list"""
NOTHING_TO_SEE = "No run or request with that id that you may see."
NO_REQUEST = "No request with that id that you may see."
WHICH = "Which one? /countersign {} and the id at the bottom of its card."
WHAT_TO_SEARCH = "What are you looking for? /countersign search and a reference, customer or runbook."
LEADS_NOBODY = "Only group leads and operators can see figures."
NONE_FOUND = "No matching run that you may see."
NOTHING_ASKED = "You have not requested anything yet."
NOT_ANSWERED = "Something went wrong on our side. Nothing was done. Please try again."
NO_RUNBOOKS = "There is nothing you may request by form. The directory says who may start which runbook."
NO_SUCH_RUNBOOK = "You may start no runbook of that name. You may start: {}."
NO_FORM = "{} has no form: {} does not fit a form field."
NO_FORM_HERE = "Open forms with /countersign request, /countersign delegate or the shortcut New request."
NOT_OPENED = "The form could not be opened. Nothing was done. Please try again."
NOT_STARTED = (
    "Something went wrong on our side, and your request may not have been recorded. Please submit it again: it counts "
    "once."
)
STARTED = "Request recorded as run {}. /countersign mine shows its status."
SIGNALED = "Run {} on the same subject is already open; it received your entries."
IN_NO_GROUP = "You are in no group, so nobody can vote for you."
GROUPS_CHANGED = "Your groups have changed since you opened this. Nothing was done. Please start again."
NOT_THEM = "This person cannot vote for you: they are not in Countersign's directory, or not a full member here."
NOT_CONFIRMED = "Slack did not confirm this person just now. Nothing was done. Please try again."
NOT_YOURSELF = "Please choose someone other than yourself."
OVER_BEFORE = "Please choose an end in the future and after the start."
WHICH_GROUPS = "Please choose at least one group."
STANDS_IN = "Done: {} votes for you from {} until {}, in {}. You or an operator may end it earlier."
