"""The guards of the console: who gets in, by which link and form, and who is given what."""

from tests.mutants.guard import Guard

_TESTS = ("tests/integration/test_console.py", "tests/integration/test_console_sign_in.py")
_ACTS = ("tests/integration/test_console_acts.py",)
_VOTES = ("tests/integration/test_console_votes.py",)
_ACCOUNTS = ("tests/integration/test_console_accounts.py",)

CONSOLE = (
    Guard(
        "a form that stands elsewhere does nothing",
        "SignIn.expect_own_form",
        'request.headers.get("Origin") != self._origin',
        "False",
        _TESTS,
    ),
    Guard(
        "another link leads nowhere",
        "SignIn._is_link",
        "hmac.compare_digest(link.encode(), self._link.encode())",
        "True",
        _TESTS,
    ),
    Guard(
        "nobody without a session sees a page",
        "SignIn.viewer",
        "if viewer is None:\n            raise SignInNeededError",
        "if False:\n            raise SignInNeededError",
        _TESTS,
    ),
    Guard(
        "who is in no group of the console does not get in",
        "ConsoleSessions.open",
        "person not in {one.person for one in await self.people()}",
        "False",
        _TESTS,
    ),
    Guard(
        "who has left the groups of the console is out at once",
        "ConsoleSessions.find",
        "if row is None or not roles or",
        "if row is None or",
        _TESTS,
    ),
    Guard("a session expires", "find_session", " AND s.expires_at > %s", " AND %s > 'epoch'::timestamptz", _TESTS),
    Guard("a session that was left opens nothing", "find_session", " AND s.ended_at IS NULL", "", _TESTS),
    Guard(
        "what is not the stored bundle is given to nobody",
        "get_stored",
        "(found := hashlib.sha256(data).hexdigest()) != sha256",
        "(found := '') != ''",
        _TESTS,
    ),
    Guard(
        "a link that lets anybody in is for a sandbox alone",
        "make_console",
        'origin is None or urlsplit(origin).hostname != "localhost"',
        "origin is None",
        _TESTS,
    ),
    Guard(
        "an answer counts in the browser alone that began",
        "SignIn._finish",
        "is_ours and state and nonce",
        "state and nonce",
        _ACCOUNTS,
    ),
    Guard(
        "an ID token is of this sign-in",
        "Provider.finish",
        "(token, nonce, expected)",
        "(token, None, expected)",
        _ACCOUNTS,
    ),
    Guard(
        "an ID token is for this client", "Provider.finish", '"value": self._client_id', '"essential": True', _ACCOUNTS
    ),
    Guard("an ID token is of this issuer", "Provider.finish", '"value": self.issuer', "**{}", _ACCOUNTS),
    Guard(
        "a provider is the issuer that it says it is",
        "Provider._describe",
        'said.get("issuer") != self.issuer',
        "False",
        _ACCOUNTS,
    ),
    Guard("an account that two people share is nobody's", "whose", "len(known.listed) > 1", "False", _ACCOUNTS),
    Guard(
        "an address counts where the settings trust its issuer",
        "whose",
        "domain_of(account.address) not in domains",
        "False",
        _ACCOUNTS,
    ),
    Guard("an address counts if it is verified", "whose", "not account.is_verified", "False", _ACCOUNTS),
    Guard(
        "the first account of an address stays its only one",
        "_contradicts",
        "(link.actor_id, link.address) == (person, account.address)",
        "False",
        ("tests/unit/test_sign_in_rules.py",),
    ),
    Guard("an account is one person's", "_contradicts", "link.actor_id != person", "False", _ACCOUNTS),
    Guard(
        "an account signs in whose person is in a group of the console",
        "ConsoleSessions._person",
        'not self._roles(row["groups"])',
        "False",
        _ACCOUNTS,
    ),
    Guard(
        "a session ends when its account is no more its person's",
        "find_session",
        "s.address = a.sign_in ->> 'email' OR s.address IS NULL AND ({_LISTS})",
        "true",
        _ACCOUNTS,
    ),
    Guard(
        "a vote counts for the page that was shown",
        "_word",
        "form.shown != digest(shown)",
        "False",
        _VOTES,
    ),
    Guard(
        "one account of the console votes once",
        "accounts_of",
        "if payload.console is None:",
        "if True:",
        _VOTES,
    ),
    Guard(
        "who has left Slack does not vote in the console",
        "vote_context",
        "present_person(tx, payload) if payload.via is Via.CONSOLE else person_of(tx, payload)",
        "person_of(tx, payload)",
        _VOTES,
    ),
    Guard(
        "a form that is sent twice is one word",
        "ConsoleRequests.send",
        "{viewer.session_id}:{form.word}",
        "{viewer.session_id}:{id(object())}",
        _VOTES,
    ),
    Guard("of many the count is typed", "ActPages._do_many", "int(sent.count) != len(subjects)", "False", _ACTS),
    Guard(
        "an act on many leaves alone what has changed",
        "_listed",
        "version=int(version) if version else None",
        "version=None",
        _ACTS,
    ),
    Guard(
        "a form of an act that is sent twice is one wish",
        "ConsoleActs._desk",
        "[form.word, subject.id, subject.step]",
        "[form.word, subject.id, id(object())]",
        _ACTS,
    ),
    Guard(
        "who has not the role does nothing",
        "SignIn.viewer_as",
        "role not in viewer.roles",
        "False",
        (*_TESTS, *_VOTES, *_ACTS),
    ),
    Guard(
        "a session counts as long as what opened it would open one",
        "ConsoleSessions.find",
        "not self._still_opens(row)",
        "False",
        _ACCOUNTS,
    ),
    Guard(
        "a sign-in has a nonce of its own",
        "SignIn._finish",
        "is_ours and state and nonce",
        "is_ours and state",
        _ACCOUNTS,
    ),
)
