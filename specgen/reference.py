"""`docs/spec-reference.md`: the spec language, from the schemas, the function table and the diagnostics catalogue."""

from __future__ import annotations

from typing import Any

INTRODUCTION = """# Spec reference

Generated from the schemas, the function table and the catalogue by `python -m specgen.docs`.

A spec is one YAML (1.2 core rules) or TOML document in a file `NAME.spec.yaml` or `NAME.spec.toml`. The body is a
serial algorithm; whatever a schedule may change is a policy or stands under a `schedule:` key, and a spec without
them is still a correct kernel: its `serial` variant. Any scalar in expression position is a number, a boolean or
text, and text is an expression.
"""

CHECKS = """A check runs every row of `cases` times the product of `each` (over arguments, params, policies and free names
such as a seed), for every entry point on every device. Params give a build of their own for each set of values. `given`
makes scalars and the buffers that are read, in the order of the file; a buffer declared `write` starts with poison.
`backing` allocates only the first elements of a buffer: a touch beyond is a finding. `expect` says what buffers hold
after the run. Entry points must also leave the same bits as `serial`.

| in a formula | is |
|---|---|
| an axis of the buffer at hand, `flat` | the element's place; `flat` is its row-major number |
| arguments, params, `define`, case names | their values |
| `x[i, j]` | an element: of a read buffer what was given, of a written one what the run left |
| `kept` | in `expect`: what the element held before the run |
| `uniform(lo, hi, seed)` | reproducible random numbers; both ends possible for integers |
| `pick(i, a, b, ...)` | entry i modulo the number of entries |
| `sum(A[m, k] * B[k, n] for k in range(K) if k != m)` | a sum over a generator, also `max`, `min`, `any`, `all`; one may stand in another |
| operators and functions | those of the language, in exact integers and float64, rounded once at the end |

`compare` is `exact` (the default for integers), `bitwise`, `{atol: a, rtol: r}`, or `derived` (the default for floats):
within (terms + 2) roundings of the formula evaluated with absolute values. A check that all-zero, constant or shifted
outputs would pass is SG-CHECK. `{reference: file.py:function}` instead of formulas is Python of the spec's folder: it
gets the case as a mapping, returns a mapping of arrays, and runs with `--allow-oracles` only."""

TYPES = """## Types

`{types}`. `index` is a signed 64-bit coordinate. A scalar type is also a function that converts: floats round to nearest
even (`f16(x, round=zero)` truncates), floats to integers truncate and saturate, integers to narrower ones wrap. An
integer literal alone is an `index`, a float literal alone has no type: write `f32(0)`. What is read by a range, `x[i,
c:+4]`, is a vector. Static facts of the target are `target.` {facts}; which have a value, `specgen targets` says.
"""

SECTIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        "Documents",
        "A `kernel` has a launch and checks, a `motif` has results (`{name: {type: f32}}` or `{name: {vector: f32, size: "
        "4}}`, values of the top level of its body) and is expanded where it is applied. `uses` lists the files of motifs, "
        "`requires` static conditions that a target or a set of values must meet, `math` what may differ from strict "
        "arithmetic: `contract` (a product may feed an addition in one rounding), `approximate` (the target's quick "
        "functions), `no_nan` (no NaN arises). `specgen init NAME` writes a commented kernel.",
        ("kernel", "motif"),
    ),
    (
        "Params and policies",
        "A param changes what is computed, a policy must not: its values leave the same bits. Both may stand wherever a "
        "static value may, only an argument's shape names no policy. Defaults are static expressions over what is "
        "declared before and `target.*`. Choices that are no numbers are words, written bare (`choices: [direct, "
        "workgroup]`, `if: where == direct`); a param whose choices are types stands where a type does (`{buffer: "
        "element}`, `element(x)`). `define` names static expressions. Each entry of `variants` is a set of policy values "
        "and one more entry point; `default` and `serial` (every depth and factor 1) always exist.",
        ("kernel_param", "motif_param", "policy"),
    ),
    (
        "Arguments",
        "In the order of the ABI. `range` (both ends belong to it) and `multiple_of` are promises that the compiler uses "
        "and each checking device tests; the `range` of a buffer is about the values that are read. `access` is `read` "
        "where nothing else is said, `align` the size of an element. Extents are expressions over scalar arguments, params "
        "and `define`; 0 is an extent. `contiguous` names the fastest axis (default: the last). Buffers do not overlap "
        "unless both say `noalias: false`.",
        ("scalar_argument", "buffer_argument", "vector_argument"),
    ),
    (
        "Typed windows",
        "`views` reads the bytes of a buffer as elements of another type. `offset` counts bytes, `strides` elements of "
        "the window; axes that `strides` does not name are packed. A window is checked whole where it is declared: it "
        "ends inside of the buffer, its offset is a multiple of its element and the buffer's `align` is one too "
        "(SG-VIEW). It is only read.",
        ("view",),
    ),
    (
        "Memory",
        "Workgroup memory starts unwritten; reading it then is a finding. No subscript depends on how it lies: "
        "`contiguous` names the fastest axis, `pad` adds elements to each row, `swizzle: xor` exchanges pieces of 16 "
        "bytes of a row by the number of the row (`none` does not).",
        ("memory", "memory_schedule"),
    ),
    (
        "Launch",
        "At most three names each, x first. They are the ids in the body, as `index` with exact ranges. Sizes are static, "
        "counts may depend on scalar arguments; without `workgroups` there is one. Where the first size is "
        "`target.subgroup_size`, it is the lane, and the others are the same for a subgroup.",
        ("launch", "kernel_schedule"),
    ),
    (
        "Statements",
        "One leading key names the statement. `let` names a value, `var` declares a variable with its first value and "
        "type, `set` changes variables (every right side sees the old values); names are visible to the end of their "
        "block and are never shadowed. A loop carries exactly the variables that its body sets. `if` may differ between "
        "work-items unless something inside forbids it. There is no `break`: guard, or clamp the bound. `while` tests "
        "before each round. `atomic` does one of `add`, `min`, `max`, `and`, `or`, `xor`, `exchange` on an element of a "
        "buffer or of workgroup memory, relaxed; `as` names the old value. `apply` expands a motif in place; its results "
        "are read as `NAME.result` with the name after `as`. `outside: v` on `let`, `var`, `set` and `view`: elements of "
        "ranges (`c:+n`) beyond an extent are not read and count as v; `outside: skip` on `store` leaves them unwritten. A "
        "range must otherwise be proven to be inside. `barrier: workgroup` orders workgroup memory, `global` buffers too. "
        "`assume` promises a condition.",
        ("let", "var", "set", "store", "atomic", "for", "while", "if", "apply", "barrier", "assume"),
    ),
    (
        "Views",
        "`view` names a region of a buffer, window, memory or other view, with at least one range, and reads nothing: "
        "`outside` is inherited by what reads through it. `place: direct` (the default) reads in place. `place: "
        "workgroup` lets the workgroup copy the region together where the statement stands, between two barriers; all "
        "work-items reach it and name one region (SG-COLL), and the buffer is not stored to until the block ends "
        "(SG-VIEW). With `buffers: n` of 2 or more, copies take turns in the iterations of the counted loop that the "
        "view stands in directly, and the second barrier goes. `pad` and `swizzle` are those of memory. The values "
        "are the same whatever these keys say.",
        ("view_statement", "view_schedule"),
    ),
    (
        "Loop schedules",
        "Values are static. Inner loops are scheduled first, read-ahead before unrolling. `through` names a `let` of the "
        "loop's body (also one inside of an `if`, but not of an inner loop): it is computed with the reads, as many "
        "iterations ahead, and the queue holds its value instead of what only it is made of. It needs `pipeline`, and "
        "is SG-LOOP where the let depends on what the loop carries, on a collective, or on workgroup or private memory; "
        "where the body does not compute it; where the other branch of a conditional that updates a variable also runs "
        "ahead; and where `contract` may round a product of it with a sum that stays behind. Every bit is kept.",
        ("loop_schedule",),
    ),
    (
        "Schedules of reads and conditionals",
        "`early`: the reads of the statement are issued as soon as their addresses are known in its block, and what they "
        "are computed from moves along; a store or barrier that they would pass and that may concern what they read is "
        "SG-LOOP. `split`: the loop around the `if` is cut where the condition changes, into two loops without the test. "
        "The condition compares the counter (times a number, plus what the loop does not change) by `<`, `<=`, `>` or "
        "`>=`, parts joined by `and` or `or` in one direction; anything else is SG-LOOP. Both keep every bit.",
        ("read_schedule", "if_schedule"),
    ),
    (
        "Implementations of motifs",
        "They compete at each application: those whose `target` (a target, one that stands for others, or a family: "
        "gfx9, gfx11, gfx12, spirv) and `requires` hold, the exact target first, then one that stands for it, then any; "
        "then the higher `priority` (default 0). A condition on arguments must be proven from what is known where the "
        "motif is applied. The motif's `body` is the fall-back; it may be left out. A tie and no fit are SG-SELECT. "
        "`specgen report show` lists what each application got, and why not the others.",
        ("implementation",),
    ),
    (
        "Barriers",
        "`overlap` is a block of private work that may run while others have not arrived: arithmetic, private memory, "
        "`for` and `if`; nothing that others see or wait for (SG-COLL). `complete` meets first and works after, "
        "`split` arrives, works, then waits. Where a target has no split barriers the wait is a complete one.",
        ("barrier_schedule",),
    ),
    (
        "Checks and benchmarks",
        CHECKS,
        ("check", "tolerance", "reference", "benchmark"),
    ),
)
"""Title, what to know, names of schemas."""

EXPRESSIONS = """## Expressions

Python's grammar, parsed and never evaluated as Python; at most 64 levels deep and 4,000 characters long.

| operator | on | exactly |
|---|---|---|
| `+ - *` | numbers | integers wrap; `index` must not overflow (a finding); floats round each operation unless `contract` |
| `/` | floats | correctly rounded, or within the bound of `docs/numerics.md` under `approximate` |
| `// %` | integers | floor and its remainder; by zero: a finding, result 0 |
| `<< >>` | integers | `>>` copies the sign of signed types; an amount outside [0, width) is an error or a finding |
| `& \\| ^ ~` | integers | bitwise; on bool use `and`, `or`, `not` |
| `== != < <= > >=` | numbers, words | NaN compares false except `!=` |
| `and or not` | bool | the right side is not evaluated when the left decides |
| `a if c else b` | any | the branch not chosen is not evaluated: its loads do not happen |
| `x[i, j]`, `x[i, c:+n]`, `x[i, :]`, `table[v]` | buffers, memory, vectors | an element, n elements from c on, a whole axis, one element for each entry of v |

Conversions are calls of the type, `f32(x)`. Implicit are only: a literal takes its partner's type, a scalar spreads
over a vector, an integer used as a subscript or bound becomes `index`.
"""

FUNCTIONS: dict[str, str] = {
    "min max": "of two or more; a NaN loses against a number, -0 < +0. Over one vector: in ascending order",
    "clamp": "`clamp(x, lo, hi)` is `max(min(x, hi), lo)`: a NaN gives `hi`",
    "abs floor ceil trunc round": "`round`: half to even",
    "fma": "`fma(a, b, c)`: one rounding, always",
    "exp exp2 log log2 sqrt rsqrt sin cos tanh erf": "bounds in `docs/numerics.md`",
    "ceil_div round_up": "integers; no overflow in the middle",
    "popcount clz ctz": "integers; `clz` and `ctz` of 0 give the width",
    "dot": "`dot(a, b, start=0)`: fma in ascending order; integers exact, accumulated in i32",
    "sum any all": "over a vector, ascending, from `start`",
    "full concat iota": "a vector from a scalar, of two vectors, of 0, 1, ...",
    "unpack pack": "bit fields `i4 u4 i8 u8`, low bits first; `unpack` gives i32",
    "bits": "`bits(x, type)`: the same bits as another type of that size",
    "size": "`size(type)` in bytes, static",
    "range": "`range(hi)`, `range(lo, hi)`, `range(lo, hi, step)`: the bounds of a `for`",
    "tile mma rename": "tiles over named axes: not supported yet",
}

COLLECTIVES: dict[str, str] = {
    "subgroup.sum .min .max .any .all (x, cluster=n)": "pairs at lane distance 1, 2, 4, ...: the same bits on every device with that subgroup size",
    "subgroup.broadcast(x, lane) .shuffle(x, lane) .shuffle_xor(x, mask) .scan_sum(x)": "`broadcast` wants one lane for all, `shuffle` takes any, the mask is static, the scan includes the lane itself; reading an inactive or absent lane is a finding",
    "workgroup.sum .min .max .any .all (x)": "subgroups first, then their results in ascending order",
    "subgroup.lane, subgroup.id": "ids inside the workgroup",
}


def _rule_type(rule: dict[str, Any]) -> str:
    wants = rule.get("meta", {}).get("wants")
    allowed = rule.get("allowed") or rule.get("words")
    if allowed and "branch" not in rule:  # words alone, no mapping beside them
        return ", ".join(f"`{value}`" for value in allowed)
    if wants:
        return str(wants)
    return {"sequence": "a list", "mapping": "a mapping"}.get(rule.get("type", ""), "text")


def _schema_table(name: str, schema: dict[str, dict[str, Any]]) -> list[str]:
    lines = [f"### `{name}`", "", "| key | value | required | when wrong |", "|---|---|---|---|"]
    for key, rule in schema.items():
        required = "yes" if rule.get("required") else ""
        code = rule.get("meta", {}).get("code", "SG-KEY")
        lines.append(f"| `{key}` | {_rule_type(rule)} | {required} | {code} |")
    return [*lines, ""]


def page() -> str:
    """The text of `docs/spec-reference.md`."""
    from specgen.binding.names import TARGET_FACTS
    from specgen.binding.types import SCALARS
    from specgen.diagnostics.catalogue import CATALOGUE
    from specgen.schema import tables

    lines = [INTRODUCTION]
    for title, text, names in SECTIONS:
        lines += [f"## {title}", "", text, ""]
        for name in names:
            lines += _schema_table(name, tables.schema(name))
    facts = ", ".join(f"`{fact}`" for fact in TARGET_FACTS)
    lines += [TYPES.format(types="`, `".join(SCALARS), facts=facts)]
    lines += [EXPRESSIONS, "| function | exactly |", "|---|---|"]
    lines += [f"| `{' '.join(names.split())}` | {meaning} |" for names, meaning in FUNCTIONS.items()]
    lines += [
        "",
        "## Collectives",
        "",
        "All of the subgroup or workgroup must take part, and a workgroup is made of whole subgroups (SG-COLL).",
        "",
        "| function | exactly |",
        "|---|---|",
    ]
    lines += [f"| `{names}` | {meaning} |" for names, meaning in COLLECTIVES.items()]
    lines += [
        "",
        "## Diagnostics",
        "",
        "`specgen explain CODE` and `docs/diagnostics.md` explain each.",
        "",
        "| code | about |",
        "|---|---|",
    ]
    lines += [f"| {code} | {rule.title} |" for code, rule in CATALOGUE.items()]
    return "\n".join(lines) + "\n"
