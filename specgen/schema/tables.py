"""The schemas of `*.yaml`, read once, with every reference to a rule or schema written out.

A schema maps keys to rules; rules are Cerberus' plus `branch`, `words` and `expectation` (see `validator`). Recursion
(statements in statements) goes through `branch` only, whose targets stay names.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib import resources
from typing import Any

import yaml

FILES = ("values", "document", "sections", "statements", "cases")

Rules = dict[str, Any]
Schema = dict[str, Rules]


@functools.cache
def _raw() -> tuple[dict[str, Any], dict[str, Any]]:
    """All rules and all schemas as written."""
    rules: dict[str, Any] = {}
    schemas: dict[str, Any] = {}
    for name in FILES:
        text = resources.files(__package__).joinpath(f"{name}.yaml").read_text(encoding="utf-8")
        loaded = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        for table, part in ((rules, loaded.get("rules", {})), (schemas, loaded.get("schemas", {}))):
            if twice := table.keys() & part.keys():
                raise ValueError(f"{name}.yaml declares {sorted(twice)} again")
            table.update(part)
    return rules, schemas


def _rules(rules: str | Mapping[str, Any]) -> Rules:
    """Rules with names replaced by what they stand for."""
    known, _ = _raw()
    result = dict(known[rules] if isinstance(rules, str) else rules)
    for rule in ("valuesrules", "expectation"):
        if rule in result:
            result[rule] = _rules(result[rule])
    inner = result.get("schema")
    if inner is not None:
        result["schema"] = _rules(inner) if result["type"] == "sequence" else schema(inner)
    return result


@functools.cache
def schema(name: str) -> Schema:
    """The schema `name`. `KeyError` when there is none."""
    _, schemas = _raw()
    return {key: _rules(rules) for key, rules in schemas[name].items()}


def names() -> tuple[str, ...]:
    """The names of all schemas."""
    return tuple(_raw()[1])
