"""The syntax tree of an expression, as far as its cost depends on it. The CEL library keeps its own to itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runtime.definitions.cel.tokens import MACROS, PLAIN_STRING, Token, TokenError, tokenize


@dataclass(frozen=True)
class Literal:
    """A value that is written out. `value` is None where only its length is known."""

    value: Any
    length: int = 0


@dataclass(frozen=True)
class Name:
    """A variable."""

    name: str


@dataclass(frozen=True)
class Select:
    """A member of an object or an item of a list; `at` is a literal where it is written out."""

    of: "Tree"
    at: "Tree"


@dataclass(frozen=True)
class Call:
    """A call of a function; what stands before its dot is the first argument."""

    name: str
    arguments: tuple["Tree", ...]


@dataclass(frozen=True)
class Loop:
    """A macro over `of`; `name` is bound in the body. `dot` is where the dot behind `of` stands in the source."""

    kind: str
    of: "Tree"
    name: str
    body: tuple["Tree", ...]
    dot: int


@dataclass(frozen=True)
class Built:
    """A list or an object that is written out, with its members; of an object keys and values in turn."""

    members: tuple["Tree", ...]
    is_list: bool


@dataclass(frozen=True)
class Choice:
    """A condition and two values, of which one is evaluated."""

    when: "Tree"
    then: "Tree"
    otherwise: "Tree"


@dataclass(frozen=True)
class Operation:
    """An operator and what stands on both sides of it; `left` is None where it has one side."""

    sign: str
    left: "Tree | None"
    right: "Tree"


Tree = Literal | Name | Select | Call | Loop | Built | Choice | Operation

_LEVELS = (
    ("||",),
    ("&&",),
    ("==", "!=", "<=", ">=", "<", ">", "in"),
    ("+", "-"),
    ("*", "/", "%"),
)
_END = Token("sign", "")


def parse(source: str) -> Tree:
    """Return the tree of `source`, a well-formed expression; raise TokenError over what it does not know."""
    reader = _Reader(tokenize(source))
    tree = reader.expression()
    if reader.index < len(reader.tokens):
        raise reader.unknown()
    return tree


class _Reader:
    """Reads a tree from tokens, one level of precedence a call."""

    def __init__(self, tokens: Sequence[Token]) -> None:
        self.tokens = tokens
        self.index = 0

    def expression(self) -> Tree:
        when = self._operation(0)
        if not self._takes("?"):
            return when
        then = self._operation(0)
        self._expect(":")
        return Choice(when, then, self.expression())

    def unknown(self) -> TokenError:
        return TokenError(f"'{self._token.text}' cannot be read here")

    @property
    def _token(self) -> Token:
        return self.tokens[self.index] if self.index < len(self.tokens) else _END

    def _is(self, text: str) -> bool:
        """Tell whether the next tokens are the signs of `text`, or that word."""
        if text.isalpha():
            return self._token == Token("name", text)
        found = self.tokens[self.index : self.index + len(text)]
        return [one.text for one in found if one.kind == "sign"] == list(text)

    def _takes(self, text: str) -> bool:
        found = self._is(text)
        self.index += (1 if text.isalpha() else len(text)) if found else 0
        return found

    def _expect(self, text: str) -> None:
        if not self._takes(text):
            raise self.unknown()

    def _operation(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self._unary()
        tree = self._operation(level + 1)
        while sign := next((one for one in _LEVELS[level] if self._takes(one)), ""):
            tree = Operation(sign, tree, self._operation(level + 1))
        return tree

    def _unary(self) -> Tree:
        for sign in ("!", "-"):
            if self._takes(sign):
                return Operation(sign, None, self._unary())
        return self._member(self._primary())

    def _member(self, tree: Tree) -> Tree:
        while True:
            dot = self._token.start
            if self._takes("["):
                tree = Select(tree, self.expression())
                self._expect("]")
            elif self._takes("."):
                name = self._name()
                tree = self._called(tree, name, dot) if self._takes("(") else Select(tree, Literal(name, len(name)))
            else:
                return tree

    def _called(self, of: Tree, name: str, dot: int) -> Tree:
        arguments = self._until(")")
        if name in MACROS and len(arguments) > 1 and isinstance(arguments[0], Name):
            return Loop(name, of, arguments[0].name, arguments[1:], dot)
        return Call(name, (of, *arguments))

    def _primary(self) -> Tree:
        token = self._token
        if self._takes("("):
            tree = self.expression()
            self._expect(")")
            return tree
        if self._takes("["):
            return Built(self._until("]"), is_list=True)
        if self._takes("{"):
            return Built(self._until("}"), is_list=False)
        if token.kind in ("string", "number"):
            self.index += 1
            return _literal(token)
        name = self._name()
        if name in ("true", "false", "null"):
            return Literal({"true": True, "false": False}.get(name))
        return Call(name, self._until(")")) if self._takes("(") else Name(name)

    def _name(self) -> str:
        if self._token.kind != "name":
            raise self.unknown()
        self.index += 1
        return self.tokens[self.index - 1].text

    def _until(self, closing: str) -> tuple[Tree, ...]:
        """Return what stands before the closing bracket, between commas and colons."""
        found: list[Tree] = []
        while not self._takes(closing):
            found.append(self.expression())
            if not (self._takes(",") or self._takes(":")) and not self._is(closing):
                raise self.unknown()
        return tuple(found)


def _text_of(source: str) -> str | None:
    """Return the text that a literal says, None where it takes more than doubled backslashes to tell."""
    raw, quoted = source[:1] in "rR", source.lstrip("rR")
    if quoted.startswith(("'''", '"""')):
        return None
    if raw:
        return quoted[1:-1]
    plain = PLAIN_STRING.fullmatch(source.replace("\\\\", ""))
    return source[1:-1].replace("\\\\", "\\") if plain else None


def _literal(token: Token) -> Literal:
    text = _text_of(token.text) if token.kind == "string" else None
    if text is not None:
        return Literal(text, len(text.encode()))
    if token.kind == "number" and token.text.isdecimal():
        return Literal(int(token.text))
    return Literal(None, len(token.text.encode()) if token.kind == "string" else 0)
