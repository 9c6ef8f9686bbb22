"""The verifier for browsers is one page, joined from modules; what cannot be joined is refused in a sentence."""

import base64
import hashlib

import pytest

from evidence.verifier_page import JoinError, page, read, script
from tools.verifier_shapes import FOLDER, modules


def joined(**texts: str) -> str:
    """Return the script of these modules, without what stands before the first."""
    return script({name: read(name, text) for name, text in texts.items()}).partition("evidence/browser.\n")[2]


@pytest.mark.parametrize("name", modules())
def test_what_is_generated_of_the_programs_models_and_rules_is_what_they_say(name: str) -> None:
    said = f"{name} is not what the program says: run `python -m tools.verifier_shapes`"
    assert (FOLDER / name).read_text(encoding="utf-8") == modules()[name], said


def test_each_module_stands_behind_those_that_it_imports_without_imports_and_exports() -> None:
    assert joined(
        page='// Page.\n\nimport {b} from "./b.js";\nimport {\n  a, c,\n} from "./a.js";\n\nb(a, c);\n',
        b='import {a} from "./a.js";\n\n/** B. */\nexport const b = () => a;\n',
        a="export const a = 1;\nexport async function c() {}\n",
    ) == ("\nconst a = 1;\nasync function c() {}\n\n/** B. */\nconst b = () => a;\n\n// Page.\n\nb(a, c);\n")


@pytest.mark.parametrize(
    ("texts", "what"),
    [
        ({"page": 'import {a} from "./a.js";\n'}, "page.js imports a, which a.js does not export"),
        (
            {"page": 'import {a} from "./b.js";\n', "b": "const a = 1;\n"},
            "page.js imports a, which b.js does not export",
        ),
        (
            {"page": 'import {a} from "./b.js";\nexport let c;', "b": 'import {c} from "./page.js";\nexport let a;\n'},
            "modules import each other in a circle: page > b > page",
        ),
        (
            {"page": 'import {a} from "./b.js";\nfunction c() {}\n', "b": "export class a {}\nconst c = 1;\n"},
            "b.js and page.js both declare c",
        ),
        ({"page": "", "b": ""}, "nothing imports b.js"),
        ({"page": 'import a from "./a.js";\n'}, 'page.js has a line that cannot be joined: import a from "./a.js";'),
        ({"page": "export default 1;\n"}, "page.js has a line that cannot be joined: export default 1;"),
        ({"page": 'const a = "</script>";\n'}, "page.js has a line that cannot be joined: </script"),
    ],
)
def test_modules_that_do_not_fit_together_are_refused(texts: dict[str, str], what: str) -> None:
    with pytest.raises(JoinError) as refused:
        joined(**texts)
    assert str(refused.value) == what


def test_the_policy_of_the_page_allows_its_own_style_and_script_alone() -> None:
    made = page()
    for kind in ("style", "script"):
        text = made.partition(f"<{kind}>")[2].partition(f"</{kind}>")[0]
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}';" in made
        assert made.count(f"<{kind}>") == 1
