"""The specs' expectations against the numbers that the corpus states, worked out independently of the specs."""

import numpy as np
import pytest

from specgen import manifest
from specgen.checks.cases import Signature, expectations, prepare
from specgen.checks.plan import plan_suite
from specgen.loading import load_spec
from specgen.stages import plan

LANE = np.arange(32)
STREAM = np.arange(2048) % 64
K1 = {
    0: 0 * LANE,
    1: 1 + LANE,
    2: 34 + 2 * LANE,
    3: 99 + 3 * LANE,
    4: 196 + 4 * LANE,
    5: 325 + 5 * LANE,
    63: 62559 + 63 * LANE,
    64: 64576 + 64 * LANE,
}
K2_AT_64 = 1032832 + 1024 * LANE
K5 = {
    0: 0 * STREAM,
    1: 14.5 + 10 * STREAM,
    2: 669 + 20 * STREAM,
    3: 1963.5 + 30 * STREAM,
    8: 18036 + 80 * STREAM,
    63: 1250833.5 + 630 * STREAM,
    128: 5203776 + 1280 * STREAM,
}


@pytest.fixture
def stated(repository):
    """`case -> contents of the buffers` that a check of a spec expects, by one of its case names."""

    def expected(name, check_name, key):
        spec = load_spec(repository / "specs" / "streaming" / f"{name}.spec.yaml").spec
        planned = plan(spec, "gfx1151").planned
        suite = plan_suite(spec, planned.instance, planned.scheduled)
        signature = Signature.of(manifest.arguments(planned.instance), suite.constants, suite.words)
        (check,) = [p.check for p in suite.checks if p.check.name == check_name]
        result = {}
        for case in check.cases():
            inputs = prepare(signature, check, case)
            before = inputs.before(signature, 0)
            wanted = expectations(signature, check, inputs, before, {})
            result[case[key]] = (inputs, {n: e.contents for n, e in wanted.items()})
        return result

    return expected


def test_sum_rows(stated):
    found = stated("sum_rows", "boundaries", "row_count")
    assert set(found) == set(K1)
    for count, (inputs, contents) in found.items():
        np.testing.assert_array_equal(contents["output"], K1[count].astype(np.float32))
        rows = inputs.given["input"].flat.reshape(-1, 32)
        assert len(rows) == count
        np.testing.assert_array_equal(rows.sum(axis=0, dtype=np.float64), K1[count])


def test_sum_vector_rows_pair(stated):
    found = stated("sum_vector_rows_pair", "closed_form", "row_count")
    assert list(found) == [0, 1, 2, 3, 4, 5, 6, 7, 8, 63, 64]
    for count, (inputs, contents) in found.items():
        values = inputs.given["input"].flat.reshape(-1, 32, 4)[:count].astype(np.float64)
        for name in ("fast", "plain"):
            np.testing.assert_array_equal(contents[name], values.sum(axis=(0, 2)))
    np.testing.assert_array_equal(found[64][1]["fast"], K2_AT_64)


def test_sum_guarded_rows(stated):
    found = stated("sum_guarded_rows", "ones", "every")
    assert sorted(found) == [0, 252]
    assert set(found[252][1]["output"].tolist()) == {252.0}


def test_streaming_packed_dot(stated):
    found = stated("streaming_packed_dot", "closed_form", "count")
    assert set(found) == set(K5)
    for count, (_, contents) in found.items():
        np.testing.assert_array_equal(contents["output"], K5[count].astype(np.float32))
        assert np.array_equal(K5[count], K5[count].astype(np.float32)), "exact in f32"


def test_streaming_packed_dot_varied(stated):
    """numpy's own unpacking of bytes, in order, in f32: every partial sum is exact."""
    found = stated("streaming_packed_dot", "varied", "count")
    assert list(found) == [0, 1, 2, 3, 4, 5, 7, 8, 9, 63, 64, 65, 127, 128]
    inputs, contents = found[65]
    fields = inputs.given["fields"].flat.reshape(65, 2048)
    weights = fields.view(np.int8).reshape(65, 2048, 4) * inputs.given["scales"].flat.reshape(65, 2048, 1).astype(
        np.float32
    )
    rhs = inputs.given["rhs"].flat.reshape(65, 64, 4)[:, STREAM]
    total = np.zeros(2048, np.float32)
    for record in range(65):
        for c in range(4):
            total = total + weights[record, :, c] * rhs[record, :, c]
    np.testing.assert_array_equal(contents["output"], total)
