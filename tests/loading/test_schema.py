"""The schemas are well formed, numbers mean numbers, and errors name the alternative that was meant."""

from __future__ import annotations

import math
from typing import Any

import pytest
from loading_helpers import KERNEL, yaml

from specgen.diagnostics.catalogue import CATALOGUE
from specgen.schema import tables
from specgen.schema.tree import UNREADABLE
from specgen.schema.validator import DocumentValidator, Violation, violations


def kernel(**changes: Any) -> dict[str, Any]:
    data, _ = yaml(KERNEL.replace("NAME", "kernel"))
    return {**data, **changes}


def policy(**values: Any) -> list[Violation]:
    return violations(kernel(policies={"p": values}), "kernel")


@pytest.mark.parametrize("name", tables.names())
def test_schemas_are_accepted_by_cerberus(name: str) -> None:
    DocumentValidator(tables.schema(name), found=[])


def rules(schema: dict[str, Any]) -> list[dict[str, Any]]:
    found = []
    for part in schema.values():
        stack = [part]
        while stack:
            rule = stack.pop()
            found.append(rule)
            stack += [rule[key] for key in ("valuesrules", "expectation") if key in rule]
            inner = rule.get("schema", {})
            stack += [inner] if "type" in inner and isinstance(inner["type"], str) else list(inner.values())
    return found


def test_every_code_in_the_schemas_is_declared_and_every_branch_exists() -> None:
    seen = 0
    for name in tables.names():
        for rule in rules(tables.schema(name)):
            for key in ("code", "missing"):
                assert rule.get("meta", {}).get(key, "SG-KEY") in CATALOGUE
            for target in rule.get("branch", {}).values():
                tables.schema(target)
            seen += 1
    assert seen > 150


def test_a_good_kernel_has_no_violations() -> None:
    assert violations(kernel(), "kernel") == []


@pytest.mark.parametrize("value", [True, math.nan, math.inf, -math.inf, [1], None])
def test_what_is_no_number_of_a_range(value: Any) -> None:
    found = policy(default=1, range=[value, 4])
    assert [v.path for v in found] == [("policies", "p", "range", 0)]


@pytest.mark.parametrize("value", [1, 2.5, "a + b", -3])
def test_what_is_a_number_of_a_range(value: Any) -> None:
    assert policy(default=1, range=[value, 4]) == []


@pytest.mark.parametrize(
    ("value", "good"), [(3, True), ("depth", True), (True, False), (1.5, False), ({"factr": 4}, False)]
)
def test_a_depth_is_an_integer_or_an_expression(value: Any, good: bool) -> None:
    loop = {"for": "i", "in": "range(4)", "schedule": {"pipeline": value}, "do": [{"set": {"a": 1}}]}
    found = violations(kernel(body=[loop]), "kernel")
    assert (found == []) is good
    assert all(v.path == ("body", 0, "schedule", "pipeline") for v in found)


def test_only_the_branch_that_is_there_is_judged() -> None:
    found = violations(kernel(body=[{"store": {"a[0]": 1}, "pipeline": 2}]), "kernel")
    assert [(v.kind, v.path) for v in found] == [("unknown", ("body", 0, "pipeline"))]
    assert set(found[0].allowed) == {"store", "outside"}


def test_what_could_not_be_read_is_not_judged_again() -> None:
    document = kernel(policies=UNREADABLE, name=UNREADABLE, summary=UNREADABLE, math=UNREADABLE, launch=UNREADABLE)
    document["args"]["count"] = UNREADABLE
    document["args"]["input"]["access"] = UNREADABLE
    document["body"] = [UNREADABLE, {"let": UNREADABLE}]
    document["checks"]["ones"]["compare"] = UNREADABLE
    assert violations(document, "kernel") == []


def test_all_findings_of_all_levels_come_at_once() -> None:
    document = kernel(lunch={}, policies={"p": {}})
    document["body"][1]["do"][0]["set"] = 3
    found = violations(document, "kernel")
    assert {v.path for v in found} == {("lunch",), ("policies", "p", "default"), ("body", 1, "do", 0, "set")}
