"""The codes of everything but loop schedules (see `loop_codes`)."""

from __future__ import annotations

from specgen.diagnostics.record import Code

CODES: tuple[Code, ...] = (
    Code(
        "SG-LOAD",
        "the file is no readable document",
        "The file could not be read as one YAML 1.2 (core rules) or TOML document: wrong encoding, a syntax "
        "error, a duplicate key, more than 1 MiB, "
        "more than 64 levels, or one of the features that specs do without (tabs, tags, anchors, aliases, merge "
        "keys, dates, several documents, no value). "
        "Plain numbers are decimal, `0o17` octal or `0x1f` hexadecimal; a decimal number with a leading zero is "
        "refused. `no`, `on` and `12:30` are text.",
        "YAML readers disagree about these features, and a misread value would silently give another kernel.",
        "policies:\n  depth: {default: 010}\n  depth: {default: 2}",
        "policies:\n  depth: {default: 10}",
    ),
    Code(
        "SG-SYNTAX",
        "an expression cannot be parsed",
        "Text in an expression position is no expression of the language: Python's own grammar, restricted to the "
        "operators and calls of the reference.",
        "Expressions are never evaluated as Python; whatever the language does not define has no meaning.",
        "- let:\n    total: lambda x: x + 1",
        "- let:\n    total: x + 1",
    ),
    Code(
        "SG-VERSION",
        "unknown format version",
        "`spec:` names the version of the format, an integer. This tool knows version 1.",
        "An old tool must never half-understand a new spec.",
        "spec: 2",
        "spec: 1",
        "Write `spec: 1`.",
    ),
    Code(
        "SG-KEY",
        "a key is unknown, missing or of the wrong kind",
        "A mapping has a key that is not defined there, lacks a required one, or a key holds something of the "
        "wrong kind.",
        "An unknown key is most often a misspelt one; ignoring it would drop what the author asked for.",
        "- for: row\n  in: range(8)\n  shedule: {unroll: 2}\n  do: []",
        "- for: row\n  in: range(8)\n  schedule: {unroll: 2}\n  do: []",
    ),
    Code(
        "SG-NAME",
        "a name is unknown, taken or not allowed",
        "A name is no identifier (`[A-Za-z_][A-Za-z0-9_]*`, at most 64 characters, no Python keyword, no "
        "reserved word), is already taken by a visible value, is never "
        "declared, is declared and never used, or `set` names something that is no `var`.",
        "Nothing is shadowed, so that a name means one thing wherever it is visible.",
        "- var: {total: f32(0)}\n- set: {totl: total + 1}",
        "- var: {total: f32(0)}\n- set: {total: total + 1}",
    ),
    Code(
        "SG-USE",
        "a used spec cannot be taken",
        "A path in `uses` is missing, leaves the folder of the spec, is no motif, uses itself, or is never "
        "applied; or a motif applies itself.",
        "A spec must give the same result wherever its folder is copied, so it only reads files below its own folder.",
        "uses: [../shared/step.spec.yaml]",
        "uses: [shared/step.spec.yaml]",
    ),
    Code(
        "SG-PATH",
        "a path leaves the folder of the spec or cannot be read",
        "A file named on the command line or by `reference:` is missing, cannot be read, has the same NAME as "
        "another one of the call, or leaves the folder of the spec.",
        "Names in artifacts are relative to the spec's folder, and references are code that runs: both must stay "
        "inside.",
        "expect: {reference: ../oracles.py:attention}",
        "expect: {reference: oracles.py:attention}",
    ),
    Code(
        "SG-PARAM",
        "a param has no value or a wrong one",
        "A param of a kernel has no default, its value is outside of its choices or range, a choice is there twice, it "
        "is declared and never used, or a motif's param can neither be taken from an argument nor is given.",
        "Each set of param values is a kernel of its own; all must be known when it is built.",
        "params:\n  head: {default: 96, choices: [64, 128]}",
        "params:\n  head: {default: 64, choices: [64, 128]}",
    ),
    Code(
        "SG-STATIC",
        "a value is needed when the spec is built",
        "A runtime value, a policy (in an argument's shape), a name that is declared later or a target fact that the "
        "target leaves open stands where a static value is wanted.",
        "Sizes, defaults and launch sizes shape the code; an argument's shape is part of its interface and may not "
        "follow a schedule.",
        "args:\n  A: {buffer: f32, shape: {m: tile_m}}\npolicies:\n  tile_m: {default: 64}",
        "params:\n  tile_m: {default: 64}\nargs:\n  A: {buffer: f32, shape: {m: tile_m}}",
    ),
    Code(
        "SG-TYPE",
        "types do not fit",
        "An operation meets operands of types that it does not take, or a conversion is missing: nothing is "
        "converted but literals, spread scalars and subscripts.",
        "A silent conversion changes the result; the call that does it can be seen.",
        "- var: {x: 0.0}",
        "- var: {x: f32(0.0)}",
    ),
    Code(
        "SG-VIEW",
        "a view does not fit its buffer",
        "A window of `views` leaves the buffer, is misaligned for its type, or names no buffer. Or a staged view "
        "cannot hold: it copies no buffer, the buffer is stored to while the copy lives, or its copies cannot take "
        "turns.",
        "A view is the only way to read bytes as something else, so it is checked whole when it is declared. What is "
        "read from a copy must be what is read in place.",
        "views:\n  half: {of: cache, type: f16, offset: 1, shape: {i: 8}}",
        "views:\n  half: {of: cache, type: f16, offset: 2, shape: {i: 8}}",
    ),
    Code(
        "SG-MEM",
        "workgroup or private memory is wrong",
        "Memory is larger than the target allows, is never read, or its size is not static.",
        "A kernel that does not fit cannot be launched, and memory that nobody reads is a mistake.",
        "memory:\n  tile: {space: workgroup, type: f32, shape: {i: 1000000}}",
        "memory:\n  tile: {space: workgroup, type: f32, shape: {i: 1024}}",
    ),
    Code(
        "SG-ACCESS",
        "a buffer is used against its declared access",
        "A buffer declared `read` is stored, one declared `write` is read or never stored.",
        "Access is part of the interface: launchers, checks and aliasing rely on it.",
        "args:\n  output: {buffer: f32, shape: {lane: 32}}\nbody:\n- store:\n    output[lane]: f32(0)",
        "args:\n  output: {buffer: f32, shape: {lane: 32}, access: write}\nbody:\n- store:\n    output[lane]: f32(0)",
    ),
    Code(
        "SG-BOUNDS",
        "a subscript may leave its axis",
        "A range that is read or stored is not provably inside, or an element is provably outside.",
        "No read happens that the serial program would not do; ragged edges are said, not guessed.",
        "- let:\n    x: values[n * 4:+4]",
        "- let:\n    x: values[n * 4:+4]\n  outside: 0",
    ),
    Code(
        "SG-POLICY",
        "a policy has a wrong value or is unknown",
        "A policy's value is outside of its choices or range, a choice is there twice, a policy is declared and never "
        "used, a variant or `--set` names one that does not exist, or `registers` asks for more than the target has.",
        "A request that is silently ignored or clipped cannot be measured.",
        "policies:\n  depth: {default: 9, range: [1, 8]}",
        "policies:\n  depth: {default: 8, range: [1, 8]}",
    ),
    Code(
        "SG-REQUIRES",
        "the spec refuses this target or point",
        "A condition under `requires` does not hold for the target, params and policies at hand.",
        "The author said where the spec is meant to run; other targets are refused with the line, not miscompiled.",
        "requires: [target.subgroup_size == 32]   # built for gfx942",
        "requires: [target.subgroup_size == 64]   # built for gfx942",
    ),
    Code(
        "SG-LAUNCH",
        "the launch is not possible",
        "A workgroup size is not static, not positive, or over a limit of the target, or a count has more than "
        "three axes.",
        "A kernel with an impossible launch can never run.",
        "launch:\n  workgroup_size: {lane: 32, a: 2, b: 2, c: 2}",
        "launch:\n  workgroup_size: {lane: 32, a: 2, b: 4}",
    ),
    Code(
        "SG-RESULT",
        "a result of a motif is no value of its body",
        "`results` names something that the top level of the body does not declare, or declares with another type.",
        "Results are read by the caller as `instance.result`; each must exist on every path.",
        "results:\n  total: {type: f32}\nbody:\n- var: {sum: f32(0)}",
        "results:\n  total: {type: f32}\nbody:\n- var: {total: f32(0)}",
    ),
    Code(
        "SG-SELECT",
        "no implementation fits, or several do",
        "At an application of a motif no implementation is left, or two of equal rank are.",
        "The order of files never decides what code runs.",
        "implementations:\n- {target: gfx12, priority: 1, body: []}\n- {target: gfx12, priority: 1, body: []}",
        "implementations:\n- {target: gfx12, priority: 2, body: []}\n- {target: gfx12, priority: 1, body: []}",
    ),
    Code(
        "SG-COLL",
        "not all work-items reach a collective",
        "A subgroup or workgroup operation, a tile operation or a barrier stands under a condition or in a loop on "
        "which its participants may disagree; or the `overlap` of a barrier holds something that others see or "
        "wait for.",
        "The missing ones would be waited for, or their lanes read as garbage; and while a barrier is passed, what "
        "others see has no order.",
        "- if: lane < n\n  then:\n  - let: {s: subgroup.sum(x)}",
        "- let:\n    s: subgroup.sum(x if lane < n else 0)",
    ),
    Code(
        "SG-RACE",
        "two work-items touch the same memory without a barrier",
        "Workgroup memory that another work-item wrote is read (or written again) with no barrier between.",
        "The result depends on timing.",
        "- store:\n    tile[lane]: x\n- let:\n    y: tile[127 - lane]",
        "- store:\n    tile[lane]: x\n- barrier: workgroup\n- let:\n    y: tile[127 - lane]",
    ),
    Code(
        "SG-TILE",
        "a tile does not fit the matrix shape",
        "An extent of a tile is no multiple of what the target's matrix operation takes, or axes do not match.",
        "Padding in silence would change what is read and what it costs.",
        "- let:\n    t: tile(A[0:+10, 0:+16])",
        "- let:\n    t: tile(A[0:+16, 0:+16])",
    ),
    Code(
        "SG-CHECK",
        "a check cannot catch a wrong kernel",
        "A check or benchmark lacks contents for an argument, names something that does not exist, gives values "
        "outside of a declared range, has a tolerance that is none or more cases than can be run; or a check would "
        "also pass for all-zero, constant or shifted results; or a kernel has no checks at all (a warning).",
        "A check that cannot fail proves nothing.",
        "checks:\n  zero:\n    given: {input: 0}\n    expect: {output: 0}",
        "checks:\n  rising:\n    given: {input: flat}\n    expect: {output: 2 * flat}",
    ),
    Code(
        "SG-UNSUPPORTED",
        "defined, but not supported yet",
        "The language defines this construct; this version of the tool parses it and stops.",
        "It is refused rather than half-done.",
        "kind: suite",
        "kind: kernel",
    ),
    Code(
        "SG-SHAPE",
        "the number of subscripts or the axes do not fit",
        "A buffer is subscripted with another number of axes than it has, vectors of different lengths meet, a vector "
        "has no or too many elements, or an extent is negative (of memory: below 1).",
        "Every axis is always named; what is left out would have to be guessed.",
        "- let:\n    x: values[row]      # shape: {row: 64, lane: 32}",
        "- let:\n    x: values[row, lane]",
    ),
    Code(
        "SG-RANGE",
        "a number is out of its range",
        "A declared range is empty, `multiple_of` is below 1, a literal does not fit its type, a shift amount is not "
        "smaller than the width, or a static computation leaves its type or divides by zero.",
        "Wrapping a constant hides a mistake that can be seen now.",
        "- let: {x: u8(300)}",
        "- let: {x: u8(255)}",
    ),
)
