"""What is said of wrong bodies: whole messages with their places (lines counted from the first of the body)."""

from __future__ import annotations

import pytest
from binding_helpers import ARGS, bound, errors, kernel, told

TYPES = [
    ("- var: {t: 0.0}", ["1:12 SG-TYPE a float literal alone has no type. [Write `f32(0.0)`.]"]),
    ("- var: {t: f32(0)}\n- set: {t: n}", ["2:12 SG-TYPE `t` is `f32`; `n` is `index`. [Write `f32(n)`.]"]),
    (
        "- let: {seen: lane > 3}\n- let: {a: n < 5 & seen}",
        ["2:16 SG-TYPE `&` binds tighter than `<` and works on integers: this reads `n < (5 & seen)`. [Use `and`.]"],
    ),
    (
        "- let: {a: n < 5 & lane < 3}",
        [
            "1:16 SG-TYPE `&` binds tighter than comparisons: this reads `n < (5 & lane) < 3`. "
            "[Use `and`, or write the brackets.]"
        ],
    ),
    (
        "- let:\n    a: lane < n\n    b: a & a\n    c: a + 1\n    d: a == true\n    e: not n\n    f: ~a\n    g: -a",
        [
            "3:8 SG-TYPE `&` works on integers, not on bool. [Use `and`.]",
            "4:8 SG-TYPE `+` works on numbers; `a` is `bool`. [Write `1 if a else 0`.]",
            "5:8 SG-TYPE `==` compares numbers; `a` is `bool`. [Write `a`.]",
            "6:12 SG-TYPE `not` works on bool; `n` is `index`. [Write `n == 0`.]",
            "7:9 SG-TYPE `a` is `bool`, no number. [Write `not a`.]",
            "8:9 SG-TYPE `a` is `bool`, no number. [Write `1 if a else 0`.]",
        ],
    ),
    ("- let:\n    b: x[0, lane] % 2", ["2:8 SG-TYPE `%` works on integers; these are `f32`."]),
    ("- let: {c: n / 2}", ["1:12 SG-TYPE `/` divides floats; these are `index`. [Write `n // 2` for integers.]"]),
    (
        "- let:\n    d: n + x[0, lane]",
        [
            "2:12 SG-TYPE `n` is `index` and `x[0, lane]` is `f32`; there is no implicit conversion. "
            "[Write `index(x[0, lane])` or `f32(n)`.]"
        ],
    ),
    ("- let:\n    f: ids[0] + 2.5", ["2:17 SG-TYPE an `i32` is needed here; `2.5` is a float."]),
    (
        "- let:\n    g: ids[0] + 5000000000",
        ["2:17 SG-RANGE 5000000000 does not fit `i32` ([-2147483648, 2147483647])."],
    ),
    ("- let: {e: u8(300)}", ["1:15 SG-RANGE 300 does not fit `u8` ([0, 255])."]),
    ("- let: {e: bool(n)}", ["1:17 SG-TYPE `n` is no condition. [Write `n != 0`.]"]),
    ("- let: {b: i32(1) << 40}", ["1:12 SG-RANGE the amount 40 is outside of [0, 32) of `i32`."]),
    ("- let:\n    c: ids[0] >> 33", ["2:18 SG-RANGE the amount 33 is outside of [0, 32) of `i32`."]),
    ("- let: {c: 1 // 0}", ["1:12 SG-RANGE division by zero: `1 // 0`."]),
    ("- let: {c: 1 << 100000}", ["1:12 SG-RANGE the amount 100000 is outside of [0, 4096): `1 << 100000`."]),
    (
        "- let:\n    v: full(f32(0), 4)\n    w: full(f32(0), 3)\n    z: v + w",
        ["4:12 SG-SHAPE vectors of different sizes do not mix: `v` has 4 and `w` has 3 elements."],
    ),
    (
        "- if: n\n  then:\n  - let: {a: 1}",
        ["1:7 SG-TYPE the condition of `if` is a bool; `n` is `index`. [Write `n != 0`.]"],
    ),
    (
        "- if: full(f32(n), 2) > 1\n  then:\n  - let: {a: 1}",
        [
            "1:7 SG-TYPE the condition of `if` is one bool; `full(f32(n), 2) > 1` has 2. "
            "[Write `any(...)` or `all(...)`, or choose element by element: `a if c else b`.]"
        ],
    ),
    ("- assume: n", ["1:11 SG-TYPE an assumption is a bool; `n` is `index`. [Write `n != 0`.]"]),
    (
        "- store:\n    y[lane]: n\n    y[0:+4]: full(f32(0), 3)",
        [
            "2:14 SG-TYPE `y` holds `f32`; `n` is `index`. [Write `f32(n)`.]",
            "3:5 SG-SHAPE `y[0:+4]` has 4 elements; the value has 3.",
        ],
    ),
    (
        "- let: {a: f32(1) if n > 3 else n}",
        [
            "1:33 SG-TYPE `f32(1)` is `f32` and `n` is `index`; there is no implicit conversion. "
            "[Write `f32(n)` or `index(f32(1))`.]"
        ],
    ),
    (
        "- let: {c: 1.5 if n > 3 else 2.5}",
        [
            "1:12 SG-TYPE a float literal alone has no type. [Write `f32(1.5)`.]",
            "1:30 SG-TYPE a float literal alone has no type. [Write `f32(2.5)`.]",
        ],
    ),
    ("- let:\n    d: x[0]", ["2:8 SG-SHAPE `x` has 2 axes (row, lane); 1 subscript is given."]),
    (
        "- let:\n    d: x[f32(n), lane]",
        ["2:10 SG-TYPE a subscript is an integer; `f32(n)` is `f32`. [Write `index(f32(n))`.]"],
    ),
    (
        "- let:\n    d: x[:, :]",
        [
            "2:8 SG-TYPE `x[:, :]` has 2 ranges and is no vector. ["
            "A vector has one range; read the others element by element.]"
        ],
    ),
    ("- let: {s: sum(n)}", ["1:16 SG-TYPE `sum` works on a vector; `n` is `index`."]),
    ("- let: {s: exp(n)}", ["1:16 SG-TYPE `exp` works on floats; `n` is `index`. [Write `f32(n)`.]"]),
    ("- let:\n    s: fma(f32(1), 2)", ["2:8 SG-TYPE `fma` takes 3 values; 2 given."]),
    ("- let:\n    s: bits(f32(n), i16)", ["2:8 SG-TYPE `bits` keeps the size; `f32` has 32 bits, `i16` 16."]),
    ("- let:\n    s: unpack(i32(n), i3)", ["2:23 SG-TYPE `i3` is no packed format; there are `i4`, `u4`, `i8`, `u8`."]),
    ("- let:\n    s: f32(n, round=up)", ["2:15 SG-TYPE `f32(x)` takes `round=zero` only."]),
    ("- let:\n    s: x + 1", ["2:8 SG-TYPE `x` is a buffer, no value. [Read it: `x[row, lane]`.]"]),
    (
        "- let:\n    s: full(f32(n), n)",
        ["2:21 SG-STATIC the number of elements is static; `n` is known only when the kernel runs."],
    ),
    ("- while: 1 < 2\n  do:\n  - let: {b: 1}", ["1:10 SG-STATIC `1 < 2` is always true; the loop never ends."]),
]

NAMES = [
    ("- let: {c: lan}", ["1:12 SG-NAME no name `lan` here. [Nearest: `lane` (launch id, line 11).]"]),
    ("- let: {c: foo(1)}", ["1:12 SG-NAME no function `foo`. [Nearest: `floor`.]"]),
    (
        "- let: {c: target.subgroup}",
        ["1:12 SG-NAME a target has no fact `subgroup`. [Nearest: `target.subgroup_size`.]"],
    ),
    ("- let: {c: subgroup.summ(n)}", ["1:12 SG-NAME no function `subgroup.summ`. [Nearest: `subgroup.sum`.]"]),
    ("- let: {c: min}", ["1:12 SG-NAME `min` is a function and is called: `min(...)`."]),
    ("- let: {c: n.top}", ["1:12 SG-NAME `n` is no instance of a motif; nothing follows its dot."]),
    (
        "- if: target.matrix\n  then:\n  - let: {a: 1}\n  else:\n  - let: {a: lan}",
        ["5:14 SG-NAME no name `lan` here. [Nearest: `lane` (launch id, line 11).]"],
    ),
    ("- let: {a: 1 if target.matrix else nn}", ["1:36 SG-NAME no name `nn` here. [Nearest: `n` (argument, line 6).]"]),
]

BOUNDS = [
    (
        "- let:\n    a: x[ids[3], lane]",
        ["2:10 SG-BOUNDS `ids[3]` may be -1; axis `row` has [0, 64). [Guard it: `if: ids[3] >= 0`.]"],
    ),
    (
        "- let: {id: 'ids[lane]'}\n- let:\n    a: x[id, lane]".replace("'", '"'),
        ["3:10 SG-BOUNDS `id` may be -1; axis `row` has [0, 64). [Guard it: `if: id >= 0`.]"],
    ),
    (
        "- let:\n    b: x[n, lane]",
        ["2:10 SG-BOUNDS `n` may be 64; axis `row` has [0, 64). [Guard it: `if: n < 64`.]"],
    ),
    (
        "- let:\n    c: x[lane + 40, lane]",
        ["2:10 SG-BOUNDS `lane + 40` may be 71; axis `row` has [0, 64). [Guard it: `if: lane + 40 < 64`.]"],
    ),
    ("- let:\n    c: x[64, lane]", ["2:10 SG-BOUNDS `64` may be 64; axis `row` has [0, 64)."]),
    (
        "- let:\n    e: x[0, n:+4]",
        ["2:13 SG-BOUNDS `n + 3` may reach 67; axis `lane` has [0, 32). [Add `outside: 0` to this statement.]"],
    ),
    (
        "- let:\n    e: x[0, lane - 1:+2]",
        [
            "2:13 SG-BOUNDS `lane - 1` may be -1; axis `lane` has [0, 32). "
            "[Add `outside: 0` to this statement or guard it: `if: lane - 1 >= 0`.]"
        ],
    ),
    (
        "- store:\n    y[lane:+2]: f32(0)",
        ["2:7 SG-BOUNDS `lane + 1` may reach 32; axis `lane` has [0, 32). [Add `outside: skip` to this store.]"],
    ),
    ("- let: {v: 'full(f32(0), 4)'}\n- let: {a: 'v[5]'}", ["2:13 SG-BOUNDS `5` is 5; the vector has [0, 4)."]),
    (
        "- let: {v: 'full(f32(0), 4)'}\n- let: {a: 'v[2:+3]'}",
        ["2:15 SG-BOUNDS `2:+3` may reach 4; the vector has [0, 4)."],
    ),
]

COLLECTIVES = [
    (
        "- let:\n    a: subgroup.sum(x[0, lane]) if lane < n else 0",
        [
            "2:8 SG-COLL lanes of one subgroup may disagree on `lane < n` (line 14), so some would miss the sum. "
            "[Move the sum out, give idle lanes 0: `x if lane < n else 0`.]"
        ],
    ),
    (
        "- if: lane < n\n  then:\n  - barrier: workgroup",
        [
            "3:5 SG-COLL work-items of one workgroup may disagree on `lane < n` (line 13), so some would miss the "
            "barrier. [Move the barrier out.]"
        ],
    ),
    (
        "- var: {i: 0}\n- while: i < lane\n  do:\n  - set: {i: i + 1}\n  - let: {a: subgroup.any(i > 3)}",
        [
            "5:14 SG-COLL lanes of one subgroup may disagree on `i < lane` (line 14), so some would miss the any. "
            "[Move the any out, give idle lanes false: `x if i < lane else false`.]"
        ],
    ),
    (
        "- for: i\n  in: range(lane)\n  do:\n  - let: {a: subgroup.max(i)}",
        [
            "4:14 SG-COLL lanes of one subgroup may disagree on `range(lane)` (line 14), so some would miss the max. "
            "[Move the max out of the loop, or give the loop a bound that is the same for all.]"
        ],
    ),
    (
        "- let: {a: 'subgroup.broadcast(n, lane)'}",
        [
            "1:35 SG-COLL lanes of one subgroup may disagree on `lane`; `broadcast` reads one lane. "
            "[Use `subgroup.shuffle`.]"
        ],
    ),
    (
        "- let: {a: 'subgroup.sum(n, cluster=3)'}",
        ["1:37 SG-COLL a cluster is a power of two, at most the subgroup size 32; this is 3."],
    ),
    ("- let: {a: subgroup.sum(lane > 3)}", ["1:25 SG-TYPE `subgroup.sum` works on numbers; `lane > 3` is `bool`."]),
    ("- let: {a: subgroup.any(3)}", ["1:25 SG-TYPE `subgroup.any` works on bool; `3` is `index`."]),
    # A variable that only one lane changes is not uniform, though it starts so.
    (
        "- var: {t: 0}\n- for: i\n  in: range(4)\n  do:\n  - if: t > 2\n    then:\n    - let: {a: subgroup.sum(n)}\n"
        "  - if: lane == 0\n    then:\n    - set: {t: t + 1}",
        [
            "7:16 SG-COLL lanes of one subgroup may disagree on `t > 2` (line 17), so some would miss the sum. "
            "[Move the sum out, give idle lanes 0: `x if t > 2 else 0`.]"
        ],
    ),
]

LOOPS = [
    (
        "- for: i\n  in: range(8)\n  schedule: {pipeline: 0, unroll: -1}\n  do:\n  - let: {a: 1}",
        [
            "3:24 SG-LOOP P2 a depth is in [1, 65535]; `0` is 0. [Give a depth from 1 to 65535.]",
            "3:35 SG-LOOP U5 a factor is in [0, 65535]; `-1` is -1. [Use a policy or a number from 0 on, or `full`.]",
        ],
    ),
    (
        "- for: i\n  in: range(8)\n  schedule: {pipeline: n}\n  do:\n  - let: {a: 1}",
        [
            "3:24 SG-LOOP P1 `n` (argument, line 6) is known only when the kernel runs; a depth is static. "
            "[Use a policy or a number.]"
        ],
    ),
    (
        "- for: i\n  in: range(0, 8, n)\n  do:\n  - let: {a: 1}",
        [
            "2:19 SG-LOOP P3 the step of a loop is static and positive; `n` is known only when the kernel runs. "
            "[Make the step a static positive number.]"
        ],
    ),
]

HINTS = [
    (
        "- let:\n    a: lane < n\n    b: n < 5\n    c: a == b\n    d: a != (n > 2)\n    e: false != a\n    f: a < b",
        [
            "4:8 SG-TYPE `==` compares numbers; `a` is `bool`. [Write `(a and b) or not (a or b)`.]",
            "5:8 SG-TYPE `!=` compares numbers; `a` is `bool`. [Write `not ((a and (n > 2)) or not (a or (n > 2)))`.]",
            "6:8 SG-TYPE `!=` compares numbers; `false` is `bool`. [Write `a`.]",
            "7:8 SG-TYPE `<` compares numbers; `a` is `bool`. [Use `and`, `or`, `not`.]",
        ],
    ),
    (
        "- let:\n    a: subgroup.shuffle_xor(lane, n)",
        [
            "2:35 SG-STATIC the mask of `subgroup.shuffle_xor` is a static integer, at least 0. "
            "[A number, or `subgroup.shuffle(lane, subgroup.lane ^ (n))`, takes any lane.]"
        ],
    ),
    (
        "- for: i\n  in: range(8)\n  schedule: {unroll: 2, order: recurence, tail: nope}\n  do:\n  - let: {a: 1}",
        [
            "3:32 SG-POLICY `order` is one of `linear`, `interleaved`, `recurrence`, not `recurence`. "
            "[Nearest: `recurrence`.]",
            "3:49 SG-POLICY `tail` is one of `guard`, `cut`, not `nope`. [Write `guard` or `cut`.]",
        ],
    ),
    ("- let: {a: yes}", ["1:12 SG-NAME no name `yes` here. [Write `true`.]"]),
    ("- let: {a: f32(1)}\n- let: {b: Off}", ["2:12 SG-NAME no name `Off` here. [Write `false`.]"]),
]

ROWS = [*HINTS, *TYPES, *NAMES, *BOUNDS, *COLLECTIVES, *LOOPS]


@pytest.mark.parametrize(("body", "expected"), ROWS, ids=[b[:40] for b, _ in ROWS])
def test_message(body: str, expected: list[str]) -> None:
    assert errors(body.replace("'", '"')) == expected


def test_everything_is_told_at_once_and_nothing_twice() -> None:
    found = errors("- let:\n    a: lan + 1\n    b: a * 2\n    c: nn\n- store:\n    y[lane]: b + c")
    assert found == [
        "2:8 SG-NAME no name `lan` here. [Nearest: `lane` (launch id, line 11).]",
        "4:8 SG-NAME no name `nn` here. [Nearest: `n` (argument, line 6).]",
    ]


ACCEPTED = [
    "- if: n > 0\n  then:\n  - let:\n      a: x[n - 1, lane]",
    "- let:\n    a: x[ids[lane], lane] if ids[lane] >= 0 else 0",
    "- let:\n    id: index(ids[lane])\n- if: 0 <= id < n\n  then:\n  - let:\n      a: x[id, lane]",
    "- if: lane < 8 and n > 3\n  then:\n  - let:\n      a: x[0, lane * 4:+4]",
    "- let:\n    v: x[lane, (lane % 8) * 4:+4]\n    w: x[lane, lane // 8 * 8:+8]",
    "- for: i\n  in: range(0, 64, 4)\n  do:\n  - let:\n      v: x[i:+4, lane]",
    "- let: {m: 'min(n, 28)'}\n- let:\n    v: x[0, m:+4]",
    "- if: not (n > 28)\n  then:\n  - let:\n      v: x[0, n:+4]",
    "- if: n > 28 or lane > 3\n  then:\n  - let: {a: 1}\n  else:\n  - let:\n      v: x[0, n:+4]",
    "- assume: n <= 28\n- let:\n    v: x[0, n:+4]",
    "- let:\n    v: x[0, clamp(n - 5, 0, 28):+4]",
    "- if: n < 10\n  then:\n  - let:\n      a: x[n * n // 2, lane]",
    "- let: {w: lane // 32}\n- if: w == 0\n  then:\n  - let: {a: subgroup.sum(n)}",
    "- if: n > 3\n  then:\n  - barrier: workgroup\n  - let: {a: workgroup.sum(lane)}",
]


@pytest.mark.parametrize("body", ACCEPTED)
def test_guards_that_prove(body: str) -> None:
    result = bound(body.replace("'", '"'))
    assert told(result.diagnostics) == []
    assert result.unproven == ()


def test_what_stays_unproven_is_noted() -> None:
    result = bound(
        "- var: {at: 0}\n- for: i\n  in: range(n)\n  do:\n  - set:\n      at: (at * 5 + 1) % 97\n"
        "- let:\n    a: x[at, lane]"
    )
    assert result.diagnostics == ()
    assert [d.message for d in result.unproven] == ["`at` is checked when run; axis `row` has [0, 64)."]


def test_a_condition_that_is_not_understood_keeps_its_accesses() -> None:
    body = "- let: {seen: 'x[0, lane] > 3'}\n- if: seen\n  then:\n  - let:\n      a: x[n, lane]"
    result = bound(body.replace("'", '"'))
    assert result.diagnostics == ()
    assert len(result.unproven) == 1


LAUNCH = [
    ("lane: 2048", "11:3 SG-LAUNCH a workgroup of 2048 work-items is over the limit of `gfx1151` (1024)."),
    (
        "lane: n",
        "11:26 SG-LAUNCH `n` (argument, line 6) is known only when the kernel runs; a workgroup size is static.",
    ),
    ("lane: 0", "11:26 SG-LAUNCH the size of `lane` is at least 1, not 0."),
]


@pytest.mark.parametrize(("size", "expected"), LAUNCH)
def test_launch(size: str, expected: str) -> None:
    args = ARGS.replace("workgroup_size: {lane: 32}", f"workgroup_size: {{{size}}}")
    found = told(bound("- store:\n    y[0]: 1", args=args).diagnostics)
    assert found == [expected]


def test_partial_subgroups_refuse_collectives() -> None:
    args = ARGS.replace("workgroup_size: {lane: 32}", "workgroup_size: {lane: 24}")
    assert errors("- store:\n    y[lane]: subgroup.sum(f32(n))", args=args) == [
        "2:14 SG-COLL a workgroup of 24 is no multiple of the subgroup size 32, so lanes would be missing. "
        "[Choose a size that 32 divides, or `requires` another subgroup size.]"
    ]


CHOICES = "policies:\n  mode: {default: fast, choices: [fast, slow]}\n  depth: {default: 2, range: [1, 8]}\n"
USES = "- for: i\n  in: range(4)\n  schedule: {pipeline: depth}\n  do:\n  - let: {a: 1 if mode == fast else 2}"


def test_values_of_policies() -> None:
    result = bound(USES, head=CHOICES, policies={"mode": "fst", "depth": 9})
    assert told(result.diagnostics) == [
        "6:3 SG-POLICY `mode` is fst; it takes fast, slow. [Nearest: `fast`.]",
        "7:3 SG-POLICY `depth` is 9; its range is [1, 8].",
    ]
    assert told(bound(USES, head=CHOICES, policies={"mode": "slow", "depth": 8}).diagnostics) == []


def test_words_are_compared_with_their_choices() -> None:
    assert errors(USES.replace("mode == fast", "mode == quick"), head=CHOICES) == [
        "5:27 SG-NAME `quick` is none of the words that it is compared with (`fast`, `slow`)."
    ]


def test_values_of_params() -> None:
    head = "params:\n  p: {default: 2, choices: [1, 2]}\n"
    assert told(bound("- let: {a: p}", head=head, params={"p": 3}).diagnostics) == [
        "6:3 SG-PARAM `p` is 3; it takes 1, 2."
    ]


def test_requirements_refuse_a_target() -> None:
    result = bound("- let: {a: lan}", head="requires: [target.subgroup_size == 64]\n")
    assert result.refused
    assert told(result.diagnostics) == [
        "5:12 SG-REQUIRES `gfx1151` is refused: `target.subgroup_size == 64` does not hold."
    ]
    assert not bound("- let: {a: lan}").refused


def test_policies_may_not_shape_arguments() -> None:
    head = "policies:\n  tile: {default: 64, choices: [32, 64]}\n"
    args = ARGS.replace("{row: 64, lane: 32}", "{row: tile, lane: 32}")
    found = told(bound("- store:\n    y[lane]: 1", head=head, args=args).diagnostics)
    assert found == [
        "9:33 SG-STATIC `tile` is a policy; an argument's shape is part of the interface. [Use a param, or memory.]"
    ]


def test_settings_are_checked() -> None:
    result = bound("- let: {a: 1}", policies={"dept": 3})
    assert told(result.diagnostics) == ["3:7 SG-POLICY `k` has no policy `dept`."]
    result = bound("- let: {a: 1}", params={"p": 3})
    assert told(result.diagnostics) == ["3:7 SG-PARAM `k` has no param `p`."]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("- let: {c: 'lane < n'}\n- let:\n    s: subgroup.sum(x[0, lane]) if c else f32(0)", "c"),
        ("- let:\n    s: n > 3 and lane < 3 and subgroup.any(n > 1)", "n > 3 and lane < 3"),
        ("- let:\n    s: 0 < lane < subgroup.sum(n)", "0 < lane"),
        ("- let:\n    s: f32(1) if n > 1 else f32(2) if lane < 3 else subgroup.sum(x[0, lane])", "lane < 3"),
        ("- if: lane < 3\n  then:\n  - barrier: workgroup", "lane < 3"),
    ],
)
def test_the_note_of_a_collective_stands_at_the_condition(body: str, text: str) -> None:
    spec = kernel(body)
    (finding,) = (d for d in bound(body).diagnostics if d.code == "SG-COLL")
    (note,) = finding.notes
    line = spec.source.line(note.span.line)
    assert note.message == "the condition"
    assert line[note.span.column - 1 : note.span.end_column - 1] == text


def test_a_cluster_that_the_workgroup_lacks() -> None:
    """Where the subgroup size is open, the workgroup's size is what bounds a cluster."""
    args = ARGS.replace("workgroup_size: {lane: 32}", "workgroup_size: {lane: 24}")
    body = "- store:\n    y[lane]: subgroup.sum(f32(n), cluster=COUNT)"
    assert errors(body.replace("COUNT", "16"), args=args, target="vulkan1.3") == [
        "2:43 SG-COLL a workgroup of 24 is no multiple of the cluster 16, so lanes would be missing. "
        "[Choose a size that 16 divides.]"
    ]
    assert bound(body.replace("COUNT", "8"), args=args, target="vulkan1.3").diagnostics == ()


def test_types_of_other_languages_and_misspelt_ones() -> None:
    args = (
        ARGS.replace("buffer: f32, shape: {row", "buffer: float32, shape: {row")
        .replace("i32", "i3")
        .replace("type: index", "type: n")
    )
    assert errors("- store:\n    y[lane]: f32(0)", args=args) == [
        "-6:13 SG-TYPE a type is expected here, not `n`. [Write one of the types.]",
        "-5:15 SG-TYPE a type is expected here, not `float32`. [Write `f32`.]",
        "-4:17 SG-TYPE a type is expected here, not `i3`. [Write `i32`.]",
    ]


def test_a_value_that_does_not_stand_there_is_told() -> None:
    head = "policies:\n  depth: {default: 2.5, range: [1, 8]}\n"
    body = "- for: i\n  in: range(8)\n  schedule: {pipeline: depth}\n  do:\n  - let: {a: 1}"
    assert errors(body, head=head) == ["3:24 SG-TYPE a depth is an integer, not `depth`, which is 2.5."]


def test_a_buffer_has_fewer_than_2_to_the_63_bytes() -> None:
    args = ARGS.replace("row: 64, lane: 32", f"row: {2**56}, lane: 32")
    body = "- store:\n    y[lane]: x[0, lane]"
    hint = "[Make it smaller, or cut it in parts.]"
    assert errors(body, args=args) == [f"-5:6 SG-SHAPE `x` has at least {2**63} bytes; offsets have 63 bits. {hint}"]
    assert errors(body, args=args.replace(str(2**56), str(2**56 - 1))) == []


@pytest.mark.parametrize("call", ["subgroup.sum(n)", "subgroup.lane", "workgroup.sum(n)", "workgroup.any(n > 1)"])
def test_a_workgroup_computes_together_in_whole_subgroups(call: str) -> None:
    body = f"- let:\n    a: {call}"
    told_ = "a workgroup of 32 is no multiple of the subgroup size 64, so lanes would be missing."
    hint = "[Choose a size that 64 divides, or `requires` another subgroup size.]"
    assert errors(body, target="gfx942") == [f"2:8 SG-COLL {told_} {hint}"]
    assert errors(body, target="gfx1151") == []
