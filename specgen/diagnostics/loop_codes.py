"""The codes of loop schedules: `P1`..`P19` for `pipeline`, `U1`.. for `unroll`, and the plain family code."""

from __future__ import annotations

from specgen.diagnostics.record import Code

_LOOP = "- for: row\n  in: range({bounds})\n  schedule: {{{schedule}}}\n  do:\n{body}"
_SUM = "  - set:\n      total: total + input[row, lane]"


def _loop(schedule: str, body: str = _SUM, bounds: str = "64") -> str:
    return _LOOP.format(bounds=bounds, schedule=schedule, body=body)


_PIPELINE = "pipeline: 3"
_SERIAL = "Set `pipeline: 1`."

CODES: tuple[Code, ...] = (
    Code(
        "SG-LOOP",
        "a loop schedule cannot be followed",
        "A schedule key asks for something that this loop or condition cannot do: `lead` with a chain carried by "
        "the loop, `through` a value that needs carried state, `split` on a "
        "condition that is not monotone, `early` past a store that may alias.",
        "A schedule that is quietly dropped or changes the result is worse than an error.",
        _loop("lead: -1"),
        _loop("lead: 0"),
    ),
    Code(
        "SG-LOOP P1",
        "the depth is not known when the spec is built",
        "`pipeline` must be a static integer.",
        "The queue of values in flight has one register for each of its entries.",
        _loop("pipeline: row_count"),
        _loop("pipeline: depth"),
        "Use a policy or a number.",
    ),
    Code(
        "SG-LOOP P2",
        "the depth is outside of 1..65535",
        "`pipeline` counts iterations in flight; 1 is the serial loop.",
        "Zero, negative and absurd depths have no meaning.",
        _loop("pipeline: 0"),
        _loop("pipeline: 1"),
        "Give a depth from 1 to 65535.",
    ),
    Code(
        "SG-LOOP P3",
        "the step is not a known positive number",
        "A pipelined loop needs a static positive step.",
        "Start-up reads are placed at multiples of the step.",
        _loop(_PIPELINE, bounds="0, 64, stride"),
        _loop(_PIPELINE, bounds="0, 64, 2"),
        "Make the step a static positive number.",
    ),
    Code(
        "SG-LOOP P4",
        "the start-up index does not fit",
        "(depth - 1) * step is larger than an `index` holds.",
        "The guard of the read-ahead would overflow.",
        _loop("pipeline: 60000", bounds="0, n, 4611686018427387904"),
        _loop(_PIPELINE, bounds="0, n, 4"),
        "Lower the depth or the step.",
    ),
    Code(
        "SG-LOOP P5",
        "a result is tied to the storage of an operand",
        "The loop's result shares storage with a value that it consumes.",
        "Read-ahead keeps old values alive while new ones are made; shared storage would lose them.",
        _loop(_PIPELINE, _SUM + "   # in IR: the result shares storage with an operand"),
        _loop("pipeline: 1"),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P6",
        "there is nothing to read ahead",
        "The body of a pipelined loop has no load.",
        "A pipeline without reads only adds registers.",
        _loop(_PIPELINE, "  - set: {total: total + f32(row)}"),
        _loop("pipeline: 1", "  - set: {total: total + f32(row)}"),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P7",
        "what is loaded is never used",
        "A load of a pipelined loop feeds nothing that the loop carries, stores or decides.",
        "It would be queued for nobody.",
        _loop(_PIPELINE, "  - let:\n      x: input[row, lane]"),
        _loop(_PIPELINE),
        "Use the value or remove the load.",
    ),
    Code(
        "SG-LOOP P8",
        "a store would be passed by later reads",
        "A pipelined loop stores to a buffer, at any depth of nesting.",
        "Reads of later iterations are already in flight; if they read what is stored, they get the old value.",
        _loop(_PIPELINE, _SUM + '\n  - store: {"output[row]": total}'),
        _loop("pipeline: 1", _SUM + '\n  - store: {"output[row]": total}'),
        "Set `pipeline: 1`, or move the store after the loop.",
    ),
    Code(
        "SG-LOOP P9",
        "a barrier that orders buffers stands in a pipelined loop",
        "`barrier: global` orders accesses to buffers, which read-ahead would move across it.",
        "The same as P8: later reads are already in flight.",
        _loop(_PIPELINE, _SUM + "\n  - barrier: global"),
        _loop(_PIPELINE, _SUM),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P10",
        "a workgroup store or barrier needs exact bounds",
        "A pipelined loop with a store to workgroup memory or a barrier has a bound that is not exact.",
        "Work-items could split over the start-up, steady and drain copies of the barrier.",
        _loop(_PIPELINE, _SUM + "\n  - barrier: workgroup", "row_count"),
        _loop(_PIPELINE, _SUM + "\n  - barrier: workgroup", "64"),
        "Make both bounds exact, or set `pipeline: 1`.",
    ),
    Code(
        "SG-LOOP P11",
        "a collective needs exact bounds",
        "A pipelined loop with a subgroup or workgroup operation has a bound that is not exact.",
        "Work-items could split over the copies of the operation.",
        _loop(_PIPELINE, "  - set:\n      total: total + subgroup.sum(input[row, lane])", "row_count"),
        _loop(_PIPELINE, "  - set:\n      total: total + subgroup.sum(input[row, lane])", "64"),
        "Make both bounds exact, or set `pipeline: 1`.",
    ),
    Code(
        "SG-LOOP P12",
        "a read depends on carried state",
        "The address, guard, inner bound or captured value of a read depends on a variable that the loop carries.",
        "The read runs before the iteration that would compute that variable.",
        _loop(_PIPELINE, "  - set:\n      at: next[at]"),
        _loop("pipeline: 1", "  - set:\n      at: next[at]"),
        "Set `pipeline: 1`, or compute the address from the counter.",
    ),
    Code(
        "SG-LOOP P13",
        "a read depends on a collective or on workgroup memory",
        "The address or guard of a read comes from a subgroup or workgroup operation or from workgroup memory.",
        "Collectives stay in order in the consumer; their results cannot drive a read that runs ahead.",
        _loop(_PIPELINE, "  - let:\n      k: subgroup.max(ids[row])\n  - set:\n      total: total + input[k, lane]"),
        _loop(_PIPELINE, "  - let:\n      k: ids[row]\n  - set:\n      total: total + input[k, lane]"),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P14",
        "a nested block cannot be cut in two",
        "One nested statement holds both a read and a collective that feeds it.",
        "The read would have to run before the collective that it needs.",
        _loop(
            _PIPELINE,
            "  - if: row < n\n    then:\n    - set:\n        total: total + input[index(subgroup.max(at)), lane]",
        ),
        _loop(
            _PIPELINE, "  - if: row < n\n    then:\n    - set:\n        total: total + subgroup.sum(input[row, lane])"
        ),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P15",
        "a `while` stands in a pipelined loop",
        "Only `if` and `for` may be nested in a pipelined loop.",
        "How often a `while` runs is not known ahead of it.",
        _loop(_PIPELINE, "  - while: left > 0\n    do:\n    - set: {left: left - 1}"),
        _loop("pipeline: 1", "  - while: left > 0\n    do:\n    - set: {left: left - 1}"),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P16",
        "an effect that is no ordinary read stands in a pipelined loop",
        "An atomic, a source fence or another ordered effect stands in a pipelined loop.",
        "Its order against the reads would change.",
        _loop(_PIPELINE, _SUM + '\n  - atomic: {"count[0]": {add: 1}}'),
        _loop("pipeline: 1", _SUM + '\n  - atomic: {"count[0]": {add: 1}}'),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P17",
        "a queued value changes its size",
        "A value that crosses from the reads to their use has an extent that depends on the counter.",
        "The entries of the queue all have one type.",
        _loop(_PIPELINE, _SUM + "   # in IR: a queued value of extent row"),
        _loop("pipeline: 1"),
        _SERIAL,
    ),
    Code(
        "SG-LOOP P18",
        "the queue is too large",
        "Carried values and queued values together are more than the IR can hold.",
        "Each of them is a value of the loop.",
        _loop("pipeline: 65535"),
        _loop("pipeline: 4"),
        "Lower the depth.",
    ),
    Code(
        "SG-LOOP P19",
        "an inner loop that loads and stores must be unrolled whole",
        "A pipelined loop has an inner loop that reads a buffer and stores to workgroup memory, and is not "
        "unrolled in full in linear order.",
        "It stays one unit, which cannot be cut into a reading and a storing part.",
        _loop(
            _PIPELINE, '  - for: part\n    in: range(4)\n    do:\n    - store:\n        "tile[part]": input[row, part]'
        ),
        _loop(
            _PIPELINE,
            "  - for: part\n    in: range(4)\n    schedule: {unroll: full}\n    do:\n"
            '    - store:\n        "tile[part]": input[row, part]',
        ),
        "Give the inner loop `schedule: {unroll: full}`.",
    ),
    Code(
        "SG-LOOP U1",
        "`unroll: full` needs an exact trip count",
        "The number of iterations is not known when the spec is built.",
        "Every copy is written out.",
        _loop("unroll: full", bounds="row_count"),
        _loop("unroll: 4", bounds="row_count"),
        "Give a factor, or make the bounds exact.",
    ),
    Code(
        "SG-LOOP U2",
        "too much code to unroll",
        "The copies of the loop, each with all operations of the body, would be more than 8192 operations.",
        "Code of that size is never meant, and compiling it takes minutes.",
        _loop("unroll: full", bounds="10000000000"),
        _loop("unroll: 4", bounds="10000000000"),
        "Give a smaller factor.",
    ),
    Code(
        "SG-LOOP U3",
        "the step of an unrolled loop is not a known positive number",
        "An unrolled loop needs a static positive step.",
        "The copies are placed at multiples of the step.",
        _loop("unroll: 2", bounds="0, 64, stride"),
        _loop("unroll: 2", bounds="0, 64, 2"),
        "Make the step a static positive number.",
    ),
    Code(
        "SG-LOOP U4",
        "the trip count depends on where the lower bound lies",
        "The lower bound varies, and the number of iterations with it.",
        "`unroll: full` writes the same number of copies whatever the bound is.",
        _loop("unroll: full", bounds="first, 64"),
        _loop("unroll: full", bounds="first, first + 4"),
        "Make the distance of the bounds exact.",
    ),
    Code(
        "SG-LOOP U5",
        "the factor is not a known number of 0 or more",
        "`unroll` takes a static integer from 0 on, or `full`; 0 and 1 leave the loop as it is.",
        "The copies are written when the spec is built.",
        _loop("unroll: -2"),
        _loop("unroll: 2"),
        "Use a policy or a number from 0 on, or `full`.",
    ),
    Code(
        "SG-LOOP U6",
        "`order` or `tail` without `unroll`",
        "`order` says how the copies of an unrolled loop are laid out and `tail` how its rest runs; without "
        "`unroll` there are no copies.",
        "A key without effect is a mistake.",
        _loop("order: recurrence"),
        _loop("unroll: 4, order: recurrence"),
        "Add `unroll`, or remove the key.",
    ),
)
