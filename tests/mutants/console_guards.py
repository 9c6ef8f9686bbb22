"""The guards of the console: who gets in, by which link and form, and who is given what."""

from tests.mutants.guard import Guard

_TESTS = ("tests/integration/test_console.py", "tests/integration/test_console_sign_in.py")

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
        "if row and roles else None",
        "if row else None",
        _TESTS,
    ),
    Guard("a session expires", "find_session", " AND s.expires_at > %s", " AND %s > 'epoch'::timestamptz", _TESTS),
    Guard("a session that was left opens nothing", "find_session", " AND s.ended_at IS NULL", "", _TESTS),
    Guard(
        "a bundle is for auditors",
        "_Console.bundle",
        "ConsoleRole.AUDITOR not in viewer.roles",
        "False",
        _TESTS,
    ),
    Guard(
        "what is not the stored bundle is given to nobody",
        "get_stored",
        "(found := hashlib.sha256(data).hexdigest()) != sha256",
        "(found := '') != ''",
        _TESTS,
    ),
    Guard(
        "a link that lets anybody in is for a sandbox alone",
        "_console",
        'origin is None or urlsplit(origin).hostname != "localhost"',
        "origin is None",
        _TESTS,
    ),
)
