"""Step 9 of the procedure: the policies, in the words that decided."""

from evidence import names
from evidence.verify.contents import BrokenError, Contents
from evidence.verify.rules import counted, rule
from receipts import canonical


def texts(contents: Contents) -> dict[str, dict[str, str]]:
    """Return the policies of the bundle: file name to text, by the digest that the folder is named after."""
    found: dict[str, dict[str, str]] = {}
    for name in contents.folder(names.POLICIES):
        _, digest, file = name.split("/", 2) if name.count("/") > 1 else ("", "", name)
        try:
            found.setdefault(digest, {})[file] = contents.members[name].decode()
        except UnicodeDecodeError as error:
            raise BrokenError(name, "is not UTF-8 text") from error
    return found


@rule("policies.digest", "Each policy folder is named after the digest that its files give.")
def digest_of_each(contents: Contents) -> str:
    """Compare each policy with its digest."""
    found = texts(contents)
    for digest, files in found.items():
        if canonical.digest(files) != digest:
            raise BrokenError(f"{names.POLICIES}/{digest}", "its files do not give the digest that it is named after")
    return counted(len(found), "policy", "policies")


@rule("policies.there", "The policy of each decision is in the bundle.")
def there(contents: Contents) -> str:
    """Look for the policy of each decision."""
    found = texts(contents)
    for name, decision in contents.decisions.items():
        if decision.policy_digest not in found:
            raise BrokenError(name, f"its policy {decision.policy_digest} is not in the bundle")
    return counted(len(contents.decisions), "decision")


@rule("policies.used", "Each policy of the bundle made a decision.")
def used(contents: Contents) -> str:
    """Look for a decision by each policy."""
    found = texts(contents)
    for digest in sorted(found.keys() - {decision.policy_digest for decision in contents.decisions.values()}):
        raise BrokenError(f"{names.POLICIES}/{digest}", "no decision was made by it")
    return counted(len(found), "policy", "policies")
