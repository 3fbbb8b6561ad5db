"""Branches that a static condition decides: what they drop, and what is no such condition."""

from __future__ import annotations

from binding_helpers import bound, errors, run

CHAINED = """
- if: n_is == 1
  then:
  - let:
      first: row + 1
      second: first + 2
  - set: {total: total + f32(second)}
  else:
  - let:
      third: row + 3
      fourth: third + 4
  - set: {total: total + f32(fourth)}
"""


def looped(inner: str) -> str:
    lines = "".join(f"  {line}\n" for line in inner.strip("\n").splitlines())
    return f"- var: {{total: f32(0)}}\n- for: row\n  in: range(4)\n  do:\n{lines}- store:\n    y[lane]: total\n"


def test_names_of_a_dropped_branch_are_seen_by_its_later_lines():
    for value in (0, 1):
        head = f"define:\n  n_is: {value}\n"
        assert bound(looped(CHAINED), head=head).diagnostics == ()
    broken = looped(CHAINED.replace("third + 4", "thrid + 4"))
    (message,) = errors(broken, head="define:\n  n_is: 1\n")
    assert "SG-NAME" in message
    assert "thrid" in message


def test_a_variable_with_a_static_first_value_decides_nothing_in_a_loop():
    """The branch is false in the first round only, so the loop has to carry what it sets."""
    body = """
- var: {total: f32(0), last: i32(-1)}
- for: row
  in: range(4)
  do:
  - if: last >= 0
    then:
    - set: {total: total + f32(last)}
  - set: {last: i32(row)}
- store:
    y[lane]: total
"""
    result = bound(body)
    assert result.instance is not None
    assert [names for _, names in result.instance.entry("default").carried] == [("total", "last")]
    assert (run(body)["y"] == 0 + 1 + 2).all()


def test_policies_of_loops_in_a_dropped_branch_are_schedule():
    """`serial` has a depth of 1 whichever of two loops the word takes."""
    loop = """
  - for: row
    in: range(8)
    schedule: {pipeline: depth}
    do:
    - set: {total: "total + x[row, lane]"}
"""
    head = "policies:\n  depth: {default: 3, range: [1, 4]}\n  form: {default: up, choices: [up, down]}\n"
    other = loop.replace("row", "line")
    body = f"- var: {{total: f32(0)}}\n- if: form == up\n  then:{loop}  else:{other}- store:\n    y[lane]: total\n"
    result = bound(body, head=head)
    assert result.instance is not None
    assert dict(result.instance.entry("serial").policies) == {"depth": 1, "form": "up"}
