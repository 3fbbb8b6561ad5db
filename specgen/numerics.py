"""What every operation promises numerically, declared once; `docs/numerics.md` is generated from it.

Sources: AMD "RDNA3.5"/"CDNA3" instruction set architecture guides (v_exp, v_log, v_rcp, v_rsq, v_sin, v_cos: 1 ulp
or as stated there), LLVM's AMDGPU expansions of exp, log, division and square root, and the Vulkan 1.3 specification,
appendix "Precision and Operation of SPIR-V Instructions".
"""

from __future__ import annotations

from dataclasses import dataclass

EXACT = "exact"
NEAREST = "rounded once, to nearest even"


@dataclass(frozen=True)
class Promise:
    """One row: operations, the types it holds for, and the bound on each device.

    `bitwise` says that every device gives the same bits. Bounds are units in the last place of the result (ulp)
    unless a row says otherwise; a device without an entry makes no promise.
    """

    operations: str
    types: str
    interpreter: str
    amdgpu: str
    vulkan: str
    bitwise: bool
    note: str = ""


TABLE: tuple[Promise, ...] = (
    Promise("+ - * of integers", "i8..i64, u8..u64", EXACT, EXACT, EXACT, True, "wraps modulo 2^width"),
    Promise(
        "+ - * of index",
        "index",
        EXACT,
        EXACT,
        EXACT,
        True,
        "64 bits; overflow is a finding and proofs assume its absence",
    ),
    Promise(
        "// %", "integers, index", EXACT, EXACT, EXACT, True, "floor and its remainder; by zero: a finding, result 0"
    ),
    Promise(
        "<< >>",
        "integers",
        EXACT,
        EXACT,
        EXACT,
        True,
        "amount outside [0, width) is a finding; >> copies the sign of signed types",
    ),
    Promise("+ - *", "f64 f32 f16 bf16", NEAREST, NEAREST, NEAREST, True, "never contracted unless `math: [contract]`"),
    Promise(
        "fma",
        "f64 f32 f16 bf16",
        NEAREST,
        NEAREST,
        NEAREST,
        True,
        "one rounding, always",
    ),
    Promise(
        "min max clamp",
        "floats",
        EXACT,
        EXACT,
        EXACT,
        True,
        "a NaN loses against a number, -0 < +0, in every reduction too; `clamp` is max(min(x, hi), lo)",
    ),
    Promise("comparisons", "all", EXACT, EXACT, EXACT, True, "NaN compares false except `!=`"),
    Promise(
        "float to narrower float",
        "f32 -> f16, bf16",
        NEAREST,
        NEAREST,
        NEAREST,
        True,
        "`round=zero` truncates; NaN stays NaN; overflow gives infinity (nearest) or the largest value (zero)",
    ),
    Promise("float to integer", "all", EXACT, EXACT, EXACT, True, "truncates, saturates; NaN gives 0"),
    Promise("integer to float", "all", NEAREST, NEAREST, NEAREST, True),
    Promise("integer to narrower integer", "all", EXACT, EXACT, EXACT, True, "wraps"),
    Promise("abs floor ceil trunc round", "floats", EXACT, EXACT, EXACT, True, "`round`: half to even"),
    Promise("/", "f32", NEAREST, NEAREST, "2.5 ulp", False, "`approximate`: 2.5 ulp on AMDGPU"),
    Promise("sqrt", "f32", NEAREST, NEAREST, "3 ulp", False, "Vulkan: inherited from 1 / inverseSqrt"),
    Promise("rsqrt", "f32", "0.5 ulp of the exact value", "2 ulp", "2 ulp", False),
    Promise(
        "exp exp2",
        "f32",
        "1 ulp",
        "2 ulp; `approximate`: 1 ulp of v_exp of the rounded product; below 2^-126 it may be 0",
        "3 + 2 |x| ulp",
        False,
    ),
    Promise(
        "log log2",
        "f32",
        "1 ulp",
        "2 ulp; `approximate`: 1 ulp of v_log",
        "3 ulp outside [0.5, 2], absolute 2^-21 inside",
        False,
    ),
    Promise("sin cos", "f32", "1 ulp", "absolute 2^-20 for |x| <= 65536", "absolute 2^-11 for |x| <= pi", False),
    Promise("tanh erf", "f32", "1 ulp", "4 ulp", "expanded by specgen from exp: 8 ulp and the bound of exp", False),
    Promise(
        "subgroup.sum and other reductions",
        "all",
        "pairs at lane distance 1, 2, 4, ...",
        "the same",
        "the same",
        True,
        "for one subgroup size",
    ),
    Promise(
        "workgroup.sum and other reductions",
        "all",
        "subgroups first, then their results in ascending order",
        "the same",
        "the same",
        True,
        "for one subgroup size",
    ),
)

PROSE = (
    "Bitwise equality is promised *across devices* for the rows marked so; *within a device* serial and scheduled entry"
    " points give the same bits for every operation; across devices the other rows stay within their bounds.",
    "Denormals are kept in f16, bf16 and f64 everywhere, and in f32 on the interpreter and AMDGPU; a Vulkan device"
    " keeps f32 denormals where it offers `DenormPreserve` for 32 bits, otherwise it may flush them.",
    "`index` values are 64 bits wide; a 32-bit form is used only where every intermediate is proven to fit.",
)


def page() -> str:
    """`docs/numerics.md`."""
    lines = ["# Numerics", "", "Generated from `specgen/numerics.py` by `python -m specgen.docs`.", ""]
    for paragraph in PROSE:
        lines += [paragraph, ""]
    lines += [
        "| operation | types | interpreter | AMDGPU | Vulkan | same bits everywhere | note |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in TABLE:
        cells = (
            row.operations,
            row.types,
            row.interpreter,
            row.amdgpu,
            row.vulkan,
            "yes" if row.bitwise else "no",
            row.note,
        )
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"
