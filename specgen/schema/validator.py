"""Checks the shape of a document: a Cerberus validator that keeps each leaf error with its path and its rule's meta.

Differences to stock Cerberus: booleans, NaN and infinity are no numbers; alternatives are picked by the key that is
there (`branch`), never tried one after the other, so that an error names the alternative that was meant.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import cerberus
from cerberus import errors
from cerberus.errors import ErrorDefinition

from specgen.schema import tables
from specgen.schema.tree import UNREADABLE, Unreadable

# Codes that Cerberus leaves free.
BRANCH = ErrorDefinition(0x78, "branch")
WORDS = ErrorDefinition(0x79, "words")

_KINDS = {
    errors.REQUIRED_FIELD.code: "missing",
    errors.UNKNOWN_FIELD.code: "unknown",
    errors.BAD_TYPE.code: "type",
    errors.NOT_NULLABLE.code: "type",
    errors.MIN_LENGTH.code: "length",
    errors.MAX_LENGTH.code: "length",
    errors.UNALLOWED_VALUE.code: "value",
    errors.EXCLUDES_FIELD.code: "excludes",
    errors.CUSTOM.code: "custom",
    BRANCH.code: "branch",
    WORDS.code: "value",
}


@dataclass(frozen=True)
class Violation:
    """One leaf error: what `kind`, where, what is allowed there (keys or values), and the rule's meta.

    `detail` is the text of a custom error, `several` or `none` of a branch, and else the type that is wanted.
    """

    kind: str
    path: tuple[str | int, ...]
    value: Any
    allowed: tuple[str, ...] = ()
    detail: str = ""
    meta: Mapping[str, str] = field(default_factory=dict)
    required: bool = False


def violations(document: Mapping[str, Any], schema: str) -> list[Violation]:
    """Every leaf error of `document` under the schema `schema`."""
    found: list[Violation] = []
    validator = DocumentValidator(found=found)
    # Set past the property: it would check and hash the whole schema again for each document (a test checks them once).
    validator._schema = tables.schema(schema)
    validator.validate(document, normalize=False)
    return found


def _type(name: str, *included: type, excluded: tuple[type, ...] = ()) -> cerberus.TypeDefinition:
    return cerberus.TypeDefinition(name, (*included, Unreadable), excluded)


class DocumentValidator(cerberus.Validator):
    """The validator; errors go to the list `found` of its configuration, which children share."""

    types_mapping: ClassVar[dict[str, cerberus.TypeDefinition]] = {
        definition.name: definition
        for definition in (
            _type("mapping", dict),
            _type("sequence", list),
            _type("text", str),
            _type("integer", int, excluded=(bool,)),
            _type("count", int, str, excluded=(bool,)),
            _type("number", int, float, str, excluded=(bool,)),
            _type("static", int, float, bool, str),
            _type("formula", int, float, bool, str),
            _type("contents", int, float, bool, str, dict),
        )
    }

    def _error(self, *args: Any) -> None:
        """Keep a leaf error as a `Violation`.

        Cerberus' own lists stay empty, so that it asks no parent to sum up its children and sorts nothing.
        """
        if len(args) < 2:
            return
        if isinstance(args[1], str):
            args = (args[0], errors.CUSTOM, args[1])
        name, definition, *info = args
        kind = _KINDS.get(definition.code)
        if kind is None or self.document.get(name) is UNREADABLE:
            return
        rules = self.schema.get(name, {}) if kind != "unknown" else {}
        allowed: Sequence[Any] = ()
        if kind == "unknown":
            allowed = tuple(self.schema)
        elif kind in ("value", "type", "length"):
            allowed = rules.get("allowed") or rules.get("words") or ()
        elif kind == "branch":
            allowed = info[0]
        elif kind == "excludes":
            allowed = (rules["excludes"],)
        self._config["found"].append(
            Violation(
                kind,
                (*self.document_path, name),
                self.document.get(name),
                tuple(str(word) for word in allowed),
                str(info[-1]) if info and kind in ("custom", "branch") else str(rules.get("type", "")),
                rules.get("meta", {}),
                bool(rules.get("required")),
            )
        )

    def _check_with_finite(self, name: str, value: Any) -> None:
        if isinstance(value, float) and not math.isfinite(value):
            self._error(name, "NaN and infinity are no numbers here")

    def _check_with_one_line(self, name: str, value: Any) -> None:
        if isinstance(value, str) and ("\n" in value.strip() or not value.strip()):
            self._error(name, "one line of text is wanted")

    def _validate_words(self, words: list[str], name: str, value: Any) -> None:
        """A scalar must be one of the words.

        The rule's arguments are validated against this schema:
        {'type': 'list'}
        """
        if not isinstance(value, dict) and (isinstance(value, bool) or value not in words):
            self._error(name, WORDS)

    def _validate_branch(self, branches: dict[str, str], name: str, value: Any) -> None:
        """A mapping is checked by the schema of the one key of `branches` that it has.

        The rule's arguments are validated against this schema:
        {'type': 'dict'}
        """
        if not isinstance(value, dict):
            return
        present = [tag for tag in branches if tag in value]
        targets = {branches[tag] for tag in present}
        if len(targets) != 1:
            self._error(name, BRANCH, tuple(branches), "several" if targets else "none")
            return
        self._descend(name, value, tables.schema(targets.pop()))

    def _validate_expectation(self, rules: dict[str, Any], name: str, value: Any) -> None:
        """Either `{reference: ...}`, or every value follows `rules`.

        The rule's arguments are validated against this schema:
        {'type': 'dict'}
        """
        if isinstance(value, dict):
            referring = "reference" in value
            self._descend(name, value, tables.schema("reference") if referring else dict.fromkeys(value, rules))

    def _descend(self, name: str, value: dict[str, Any], schema: tables.Schema) -> None:
        child = self._get_child_validator(document_crumb=name, schema_crumb=(name, "schema"), schema=schema)
        child.validate(value, normalize=False)
