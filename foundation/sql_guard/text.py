"""From text to a tree, and back to text: sizes, one statement, parameters, and calls that keep their names."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import Any, NoReturn

from sqlglot import Dialect as SqlglotDialect
from sqlglot import exp
from sqlglot.errors import ErrorLevel, ParseError, SqlglotError
from sqlglot.tokenizer_core import Token, TokenType

from foundation.errors import SqlRefused
from foundation.sql_guard.functions import FUNCTIONS, SPECIAL_SYNTAX, Dialect
from foundation.sql_guard.nodes import UNITS, WORDS

MAX_CHARACTERS = 20_000
MAX_TOKENS = 4_000
MAX_DEPTH = 50
MAX_BRACKETS = 50
"""sqlglot takes time quadratic in a chain of them."""

CALL = "__call_"
PARAMETER = "__parameter_"

# sqlglot logs the statement when it does not know it; what people ask never reaches a log.
logging.getLogger("sqlglot").setLevel(logging.CRITICAL)

_WORD = re.compile(r"[^\W\d][\w$]*\Z")
_STRINGS = (TokenType.STRING, TokenType.RAW_STRING, TokenType.HEREDOC_STRING, TokenType.BYTE_STRING)
_QUOTED = (*_STRINGS, TokenType.IDENTIFIER)


def refuse(rule: str, message: str, *, fix: str | None = None) -> NoReturn:
    raise SqlRefused(message, rule=rule, fix=fix)


def engine(dialect: Dialect) -> SqlglotDialect:
    """sqlglot's dialect. Athena's own class turns to Hive's syntax for what it takes for DDL; queries are Trino's."""
    return SqlglotDialect.get_or_raise("trino" if dialect == "athena" else dialect)


def check_size(statement: str, dialect: Dialect) -> None:
    """Refuse what would keep the parser busy; what it renders is larger by names and parentheses, and not checked."""
    if len(statement) > MAX_CHARACTERS:
        refuse("size", f"The statement has {len(statement)} characters; at most {MAX_CHARACTERS} are taken.")
    kinds = [token.token_type for token in _tokens(statement, dialect)]
    if len(kinds) > MAX_TOKENS:
        refuse("size", f"The statement has {len(kinds)} words and signs; at most {MAX_TOKENS} are taken.")
    if kinds.count(TokenType.L_BRACKET) > MAX_BRACKETS:
        refuse("size", f"The statement has more than {MAX_BRACKETS} square brackets.")
    depth = 0
    for kind in kinds:
        depth += (kind == TokenType.L_PAREN) - (kind == TokenType.R_PAREN)
        if depth > MAX_DEPTH:
            refuse("size", f"Parentheses are nested deeper than {MAX_DEPTH}.")


def read(statement: str, dialect: Dialect) -> tuple[exp.Expr, int]:
    """The tree of the one statement, and the highest parameter number. Calls of listed functions are Anonymous."""
    if "\0" in statement or any("\ud800" <= c <= "\udfff" for c in statement):
        refuse("string", "The statement holds a character that no engine takes (NUL or half a surrogate pair).")
    if CALL in statement.lower() or PARAMETER in statement.lower():
        refuse("syntax", f"Names with {CALL} or {PARAMETER} in them are reserved; rename the alias.")
    tokens = _tokens(statement, dialect)
    _check_shape(tokens)
    marked, parameters = _mark(tokens, dialect)
    try:
        trees = engine(dialect).parser(error_level=ErrorLevel.IMMEDIATE).parse(marked, statement)
    except RecursionError:
        raise
    except ParseError as error:
        detail = error.errors[0] if error.errors else {}
        place = f" at line {detail['line']}, column {detail['col']}" if detail.get("line") else ""
        raise SqlRefused(f"The statement is not valid {dialect} SQL{place}.", rule="syntax") from error
    except Exception as error:
        raise SqlRefused(f"The statement is not valid {dialect} SQL.", rule="syntax") from error
    if len(trees) != 1 or trees[0] is None:
        refuse("one_statement", "Send exactly one statement.")
    return trees[0], parameters


def _tokens(text: str, dialect: Dialect) -> list[Token]:
    try:
        tokens: list[Token] = engine(dialect).tokenize(text)
    except Exception as error:
        raise SqlRefused(
            f"The statement is not valid {dialect} SQL: a quote or a comment does not end.", rule="syntax"
        ) from error
    return tokens


def _check_shape(tokens: list[Token]) -> None:
    while tokens and tokens[-1].token_type == TokenType.SEMICOLON:
        tokens.pop()
    if not tokens:
        refuse("one_statement", "The statement is empty.")
    if any(token.token_type == TokenType.SEMICOLON for token in tokens):
        refuse("one_statement", "Send exactly one statement: there is a semicolon in the middle.")
    first = next((token for token in tokens if token.token_type != TokenType.L_PAREN), tokens[0])
    if first.token_type not in (TokenType.SELECT, TokenType.WITH):
        word = first.text.upper() if _WORD.match(first.text) and len(first.text) < 30 else "this"
        refuse("select_only", f"Only SELECT and WITH … SELECT may run, not {word}.")


@dataclass(slots=True)
class _Numbering:
    positional: int = 0
    numbered: int = 0

    def next(self) -> int:
        self.positional += 1
        return self.positional


def _mark(tokens: list[Token], dialect: Dialect) -> tuple[list[Token], int]:
    """Rename what sqlglot would read its own way.

    Calls of listed functions: sqlglot translates a function that it knows into a class and back, which may change it
    (to_char's formats go through strftime's); one that it does not know it writes as it stands.
    Parameters: numbered as they stand in the text, before the tree reorders anything.
    """
    marked: list[Token] = []
    numbers = _Numbering()
    skip = False
    for index, token in enumerate(tokens):
        following = tokens[index + 1] if index + 1 < len(tokens) else None
        previous = tokens[index - 1].token_type if index else None
        if skip:
            skip = False
        elif token.token_type == TokenType.PLACEHOLDER:
            marked.append(_word(token, f"{PARAMETER}{numbers.next()}"))
        elif token.token_type == TokenType.PARAMETER and following and following.token_type == TokenType.NUMBER:
            if not re.fullmatch(r"[1-9]\d{0,3}", following.text):
                refuse("parameters", "A parameter is written $1, $2 and so on.")
            numbers.numbered = max(numbers.numbered, int(following.text))
            marked.append(_word(token, f"{PARAMETER}{following.text}"))
            skip = True
        elif _is_call(token, following, previous, dialect):
            marked.append(_word(token, CALL + token.text))
        else:
            marked.append(token)
    if numbers.positional and numbers.numbered:
        refuse("parameters", "Write parameters either all as ? or all as $1, $2 and so on.")
    return marked, numbers.positional or numbers.numbered


def _is_call(token: Token, following: Token | None, previous: TokenType | None, dialect: Dialect) -> bool:
    name = token.text.upper()
    return (
        following is not None
        and following.token_type == TokenType.L_PAREN
        and token.token_type not in _QUOTED
        and name in FUNCTIONS[dialect]
        and name not in SPECIAL_SYNTAX
        and not (name == "REPLACE" and previous == TokenType.STAR)  # SELECT * REPLACE (…)
    )


def _word(token: Token, text: str) -> Token:
    return Token(TokenType.VAR, text, token.line, token.col, token.start, token.end, [])


def prepare(tree: exp.Expr, dialect: Dialect) -> exp.Expr:
    """Make names what the engine would make of them, strings plain, and parameters parameters."""
    for node in list(tree.walk()):
        if isinstance(node, exp.Identifier):
            _fold(node, dialect)
        elif isinstance(node, exp.ByteString | exp.RawString):
            # E'…' comes decoded; a backslash that is left was an escape that sqlglot does not know.
            if isinstance(node, exp.ByteString) and ("\\" in node.name or dialect == "athena"):
                refuse("string", "Write this string without backslash escapes.")
            node.replace(exp.Literal.string(node.name))
        elif isinstance(node, exp.Placeholder | exp.Parameter):
            refuse("parameters", "Write a parameter as ? or as $1.")
    for column in list(tree.find_all(exp.Column)):
        if column.name.startswith(PARAMETER) and not column.args.get("table"):
            number = column.name.removeprefix(PARAMETER)
            column.replace(
                exp.Parameter(this=exp.Literal.number(number))
                if dialect == "postgres"
                else exp.Placeholder(this=number if dialect == "duckdb" else column.name)
            )
    return tree


def _fold(identifier: exp.Identifier, dialect: Dialect) -> None:
    name = identifier.this
    if not isinstance(name, str):
        refuse("expression", "A name is written in a way that is not taken; write it plainly.")
    name = name.removeprefix(CALL)
    if dialect == "athena" or (dialect == "postgres" and not identifier.args.get("quoted")):
        # Postgres folds ASCII letters only.
        name = "".join(c.lower() if c.isascii() else c for c in name)
    if not name or len(name.encode()) > 63 or any(ord(c) < 32 or ord(c) == 127 for c in name):
        # Postgres cuts longer names off, so that two names would be one.
        refuse("column", "A name is empty, longer than 63 bytes, or holds a control character.")
    identifier.set("this", name)
    identifier.set("quoted", True)


def render(tree: exp.Expr, dialect: Dialect) -> tuple[str, tuple[int, ...]]:
    """The text that runs, and for Athena, whose parameters have no numbers, their order in it."""
    try:
        text = tree.sql(
            dialect=engine(dialect), identify=True, comments=False, pretty=False, unsupported_level=ErrorLevel.RAISE
        )
    except RecursionError:
        raise
    except SqlglotError as error:
        raise SqlRefused(f"{dialect} has no such construct: {error}", rule="expression") from error
    except Exception as error:
        raise SqlRefused("The statement cannot be written out again.", rule="syntax") from error
    return _check_words(text, dialect)


def _check_words(text: str, dialect: Dialect) -> tuple[str, tuple[int, ...]]:
    """Read the rendered text by its tokens alone: a second look that does not trust the tree.

    Names are quoted in it, so every bare word must be a keyword of a query, a unit or a listed function.
    """
    known = WORDS | UNITS | FUNCTIONS[dialect]
    pieces: list[str] = []
    order: list[int] = []
    copied = 0
    tokens = _tokens(text, dialect)
    for index, token in enumerate(tokens):
        if token.token_type in (TokenType.STRING, TokenType.IDENTIFIER, TokenType.NUMBER):
            continue
        if token.text.startswith(PARAMETER):
            order.append(int(token.text.removeprefix(PARAMETER)))
            pieces.append(text[copied : tokens[index - 1].start] + "?")
            copied = token.end + 1
        elif token.token_type in _STRINGS or token.token_type == TokenType.SEMICOLON:
            refuse("string", "Write this string in single quotes, without a prefix.")
        else:
            for word in token.text.split():
                if _WORD.match(word) and word.upper() not in known:
                    refuse("function", f"{word.upper()[:40]} is not among the functions and keywords that may be used.")
    return "".join([*pieces, text[copied:]]), tuple(order)


def call_name(node: exp.Expr) -> str | None:
    """The function's name if this is a marked call, and takes the mark off."""
    name: Any = node.this
    if not isinstance(name, str) or not name.startswith(CALL):
        return None
    plain = name.removeprefix(CALL).upper()
    node.set("this", plain)
    return plain
