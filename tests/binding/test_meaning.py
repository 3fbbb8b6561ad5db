"""What expressions mean: executed on the interpreter and compared with Python and numpy."""

from __future__ import annotations

import math
from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from binding_helpers import run

LANE = np.arange(32)
X = np.arange(1, 64 * 32 + 1, dtype=np.float32).reshape(64, 32)


def y(expression: str, *, n: int = 5, before: str = "") -> np.ndarray:
    """`y[lane]` of an expression that gives an f32."""
    body = before + f"\n- let:\n    result: {expression}\n- store:\n    y[lane]: result\n"
    return run(body, n=n)["y"]


def _counts(value: int) -> int:
    trailing = (value & -value).bit_length() - 1 if value else 64
    return value.bit_count() + 64 - value.bit_length() + trailing


INDEX = [
    ("lane // 3", lambda i: i // 3),
    ("(lane - 16) // 3", lambda i: (i - 16) // 3),
    ("(lane - 16) % 3", lambda i: (i - 16) % 3),
    ("lane // (n - 10)", lambda i: i // -5),
    ("lane % (n - 10)", lambda i: i % -5),
    ("ceil_div(lane - 16, 3)", lambda i: -(-(i - 16) // 3)),
    ("ceil_div(lane, n)", lambda i: -(-i // 5)),
    ("round_up(lane, 4)", lambda i: -(-i // 4) * 4),
    ("min(lane, n, 3)", lambda i: np.minimum(i, 3)),
    ("clamp(lane, n, 7)", lambda i: np.clip(i, 5, 7)),
    ("abs(lane - n)", lambda i: abs(i - 5)),
    ("lane * 3 - -n", lambda i: i * 3 + 5),
    ("5 if lane < n else 7", lambda i: np.where(i < 5, 5, 7)),
    ("1 if 3 <= lane < n else 0", lambda i: np.where((i >= 3) & (i < 5), 1, 0)),
    ("1 if not (lane < n) else 0", lambda i: np.where(i < 5, 0, 1)),
    ("1 if lane < 3 or lane > 30 else 0", lambda i: np.where((i < 3) | (i > 30), 1, 0)),
    ("popcount(lane) + clz(lane) + ctz(lane)", lambda i: np.array([_counts(v) for v in i.tolist()])),
    ("~lane & 12 | 1 ^ lane", lambda i: ~i & 12 | 1 ^ i),
    ("lane << 2 >> 1", lambda i: i << 2 >> 1),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), INDEX, ids=[e for e, _ in INDEX])
def test_index_arithmetic(expression: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    assert np.array_equal(y(f"f32({expression})"), expected(LANE))


def _wrap(values: np.ndarray, dtype: type) -> np.ndarray:
    return values.astype(np.int64).astype(dtype)


SIZED = [
    ("i8(100) + i8(n * lane)", lambda i: _wrap(100 + 5 * i, np.int8)),
    ("u8(lane) * u8(17)", lambda i: _wrap(17 * i, np.uint8)),
    ("i32(u8(i8(lane - 16)))", lambda i: _wrap(i - 16, np.uint8)),
    ("i16(lane) - i16(20)", lambda i: i - 20),
    ("u16(lane) - u16(20)", lambda i: _wrap(i - 20, np.uint16)),
    ("u32(lane) // u32(3) + u32(lane) % u32(n)", lambda i: i // 3 + i % 5),
    ("i32(lane - 16) // i32(3)", lambda i: (i - 16) // 3),
    ("i8(-128) // i8(n - 6)", lambda i: np.full(32, -128)),
    ("i8(-128) % i8(n - 6)", lambda i: np.full(32, 0)),
    ("i32(lane - 16) >> 2", lambda i: (i - 16) >> 2),
    ("u8(i32(lane - 16)) >> u8(2)", lambda i: _wrap(i - 16, np.uint8) >> 2),
    ("-i32(lane)", lambda i: -i),
    ("max(u8(200), u8(lane))", lambda i: np.full(32, 200)),
    ("min(i8(-56), i8(lane))", lambda i: np.full(32, -56)),
    ("i64(lane) * i64(1 << 20) // i64(1 << 19)", lambda i: i * 2),
    ("bits(bits(i32(lane), f32), i32)", lambda i: i),
    ("i32(f32(lane - 16) / 4)", lambda i: np.trunc((i - 16) / 4)),
    ("u8(f32(lane - 16) * 100)", lambda i: np.clip((i - 16) * 100, 0, 255)),
    ("i8(f32(nan))", lambda i: np.zeros(32)),
    ("i8(f32(lane - 16) * 1e30)", lambda i: np.select([i < 16, i > 16], [-128, 127], 0)),
]


@pytest.mark.parametrize(("expression", "expected"), SIZED, ids=[e for e, _ in SIZED])
def test_sized_integers(expression: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    assert np.array_equal(y(f"f32({expression})"), expected(LANE).astype(np.float32))


FLOAT = [
    ("x[0, lane] / 3 + 0.1", lambda v: v / np.float32(3) + np.float32(0.1)),
    ("fma(x[0, lane], 0.1, 0.7)", lambda v: v.astype(float) * float(np.float32(0.1)) + float(np.float32(0.7))),
    ("floor(v / 4) + 100 * ceil(v / 4)", lambda v: np.floor(v / 4) + 100 * np.ceil(v / 4)),
    ("trunc(-v / 4) + 100 * round(v / 4)", lambda v: np.trunc(-v / 4) + 100 * np.round(v / 4)),
    ("sqrt(v)", np.sqrt),
    ("-v * -1.5", lambda v: v * np.float32(1.5)),
    ("min(v, 7.5)", lambda v: np.minimum(v, np.float32(7.5))),
    ("max(v, nan)", lambda v: v),
    ("clamp(v, 2, 9)", lambda v: np.clip(v, 2, 9)),
    ("abs(v - 16)", lambda v: np.abs(v - 16)),
    ("f32(bf16(v * 1.001))", lambda v: (v * np.float32(1.001)).astype(ml_dtypes.bfloat16).astype(np.float32)),
    ("f32(f16(v * 1.001))", lambda v: (v * np.float32(1.001)).astype(np.float16).astype(np.float32)),
    ("f32(f16(bf16(v)) + f16(0.1))", lambda v: (v.astype(np.float16) + np.float16(0.1)).astype(np.float32)),
    ("f32(f64(v) / 3)", lambda v: (v.astype(np.float64) / 3).astype(np.float32)),
    ("v if v != v else 1", lambda v: np.ones(32)),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "expected"), FLOAT, ids=[e for e, _ in FLOAT])
def test_floats(expression: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    found = y(expression, before="- let:\n    v: x[0, lane]")
    assert np.array_equal(found, expected(X[0]).astype(np.float32))


def test_truncating_conversion() -> None:
    value = np.float32(1 + 2**-8 + 2**-9)
    found = y("f32(bf16(v, round=zero))", before=f"- let:\n    v: x[0, lane] * {float(value)}")
    bits = (X[0] * value).view(np.uint32) & np.uint32(0xFFFF0000)
    assert np.array_equal(found, bits.view(np.float32))


@pytest.mark.parametrize("name", ["exp", "exp2", "log", "log2", "rsqrt", "sin", "cos", "tanh", "erf"])
def test_functions_agree_between_static_and_runtime(name: str) -> None:
    found = y(f"{name}(x[0, lane] / 8) - {name}(f32(0.125) + f32(lane) / 8)")
    assert np.allclose(found, 0, atol=1e-6)
    constant = y(f"f32({name}(0.625))")[0]
    expected = {"exp2": lambda v: 2**v, "rsqrt": lambda v: 1 / math.sqrt(v)}.get(name) or getattr(math, name)
    assert math.isclose(constant, expected(0.625), rel_tol=1e-6)


VECTOR = [
    ("sum(v)", lambda r: np.float32(r[0]) + r[1] + r[2] + r[3]),
    ("sum(v, start=0.5)", lambda r: np.float32(0.5) + r[0] + r[1] + r[2] + r[3]),
    ("max(v) - min(v)", lambda r: r[3] - r[0]),
    ("dot(v, v, start=1)", lambda r: np.float32(1 + sum(float(a) ** 2 for a in r))),
    ("f32(1 if any(v > 3) and not all(v > 3) else 0)", lambda r: np.float32(((r > 3).any()) and not (r > 3).all())),
    ("v[1] + v[1:+2][1] + v[(n + lane) % 4] * 0", lambda r: r[1] + r[2]),
    ("sum(concat(v, v[0:+2]))", lambda r: r.sum() + r[0] + r[1]),
    ("sum(v if v > 2 else 0)", lambda r: np.where(r > 2, r, 0).sum()),
    ("sum(v * 2 + full(f32(1), 4))", lambda r: (r * 2 + 1).sum()),
    ("sum(f32(iota(4)) * v)", lambda r: (np.arange(4) * r).sum()),
    ("f32(dot(unpack(i32(lane) * 17, u4), unpack(i32(-1), i4)))", None),
]


@pytest.mark.parametrize(("expression", "expected"), VECTOR, ids=[e for e, _ in VECTOR])
def test_vectors(expression: str, expected: Callable[[np.ndarray], np.ndarray] | None) -> None:
    found = y(expression, before="- let:\n    v: x[lane, 2:+4]")
    if expected is None:
        packed = LANE * 17
        digits = [sum((int(p) >> (4 * i)) & 15 for i in range(8)) for p in packed]
        assert np.array_equal(found, -np.array(digits))
        return
    assert np.array_equal(found, np.array([expected(X[lane, 2:6]) for lane in range(32)], np.float32))


@pytest.mark.parametrize("form", ["i4", "u4", "i8", "u8"])
@pytest.mark.parametrize("source", ["i32", "i16", "u8", "u32", "i64"])
def test_unpack_and_pack_are_inverse(form: str, source: str) -> None:
    width = int(source[1:])
    if width * 1 < 8 or (form[1:] == "8" and width == 8):
        pytest.skip("one element")
    value = 0x7_1234_89AB_CDEF & ((1 << width) - 1)
    bits = int(form[1:])
    body = f"- let:\n    raw: {source}(n) * 0 + bits({source}(n) * 0, {source})"
    static = value - (1 << width) if source[0] == "i" and value >> (width - 1) else value
    found = y(
        f"f32(unpack(raw + {source}({static}), {form})[{width // bits - 1}])",
        before=body,
    )
    top = (value >> (width - bits)) & ((1 << bits) - 1)
    expected = top - (1 << bits) if form[0] == "i" and top >> (bits - 1) else top
    assert np.array_equal(found, np.full(32, expected))


def test_pack_keeps_low_bits() -> None:
    found = y("f32(pack(unpack(i32(lane) * 1000 + 5, i8), u8) - i32(lane) * 1000)")
    assert np.array_equal(found, np.full(32, 5))


GUARDED = [
    ("x[ids[lane], lane] if ids[lane] >= 0 else -1", lambda i: np.where(i == 0, -1, X[np.maximum(i - 1, 0), i])),
    ("1 if lane < n and x[n - lane - 1, lane] > 0 else 0", lambda i: np.where(i < 5, 1, 0)),
    ("1 if lane >= n or x[lane, lane] < 0 else 0", lambda i: np.where(i < 5, 0, 1)),
]


@pytest.mark.parametrize(("expression", "expected"), GUARDED, ids=[e for e, _ in GUARDED])
def test_loads_behind_conditions_do_not_happen(expression: str, expected: Callable[[np.ndarray], np.ndarray]) -> None:
    assert np.array_equal(y(f"f32({expression})"), expected(LANE))


def test_vector_masks_guard_elements() -> None:
    body = "- let:\n    at: iota(4) + lane * 2\n    v: x[3, lane:+4] if at < 31 else 0\n  outside: 0"
    found = y("sum(v)", before=body)
    expected = [sum(X[3, lane + e] for e in range(4) if 2 * lane + e < 31 and lane + e < 32) for lane in range(32)]
    assert np.array_equal(found, expected)


def test_outside_reads_count_as_the_value() -> None:
    found = y("sum(v)", before="- let:\n    v: x[3, lane - 2:+4]\n  outside: 100")
    expected = [sum(X[3, c] if 0 <= c < 32 else 100 for c in range(lane - 2, lane + 2)) for lane in range(32)]
    assert np.array_equal(found, expected)


def test_outside_along_a_slow_axis() -> None:
    found = y("sum(v)", before="- let:\n    v: x[lane * 3 - 4:+2, 1]\n  outside: 0.5")
    expected = [sum(X[r, 1] if 0 <= r < 64 else 0.5 for r in range(3 * i - 4, 3 * i - 2)) for i in range(32)]
    assert np.array_equal(found, expected)


def test_gather_of_a_vector_of_places() -> None:
    found = y("sum(x[at, lane])", before="- let:\n    at: (iota(3) + lane) % 7")
    assert np.array_equal(found, [sum(X[(lane + e) % 7, lane] for e in range(3)) for lane in range(32)])


VIEWS = [
    ("- view:\n    t: x[n, 4:+8]", "t[3] + t[lane % 8]", lambda i: X[5, 7] + X[5, 4 + i % 8]),
    ("- view:\n    t: x[n:+2, :]", "t[1, 31 - lane]", lambda i: X[6, 31 - i]),
    ("- view:\n    t: x[n:+2, :]\n- view:\n    u: t[1, lane // 8 * 8:+8]", "sum(u[0:+4])",
     lambda i: np.array([X[6, k // 8 * 8 :][:4].sum() for k in i])),
    ("- view:\n    t: x[lane - 2:+4, lane]\n  outside: 7", "t[0] + t[3]",
     lambda i: np.array([(X[k - 2, k] if k >= 2 else 7) + X[k + 1, k] for k in i])),
    ("- view:\n    t: x[0, lane:+4]\n  outside: 7", "sum(t[:])",
     lambda i: np.array([sum(X[0, c] if c < 32 else 7 for c in range(k, k + 4)) for k in i])),
    ("- view:\n    t: x", "t[1, lane]", lambda i: X[1, i]),
]  # fmt: skip


@pytest.mark.parametrize(("view", "expression", "expected"), VIEWS, ids=[e for _, e, _ in VIEWS])
def test_views_name_regions(
    view: str, expression: str, expected: Callable[[np.ndarray], np.ndarray], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specgen.loading.load.check_supported", lambda tree, spec: [])
    source = f"- if: n < 60\n  then:\n  - let: {{k: n}}\n- assume: n < 60\n{view}"
    assert np.array_equal(y(expression, before=source), expected(LANE))
