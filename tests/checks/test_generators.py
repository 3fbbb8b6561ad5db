"""The seeded generator against published vectors and a scalar transcription of the algorithm."""

import numpy as np
import pytest

from specgen.checks.generators import BLOCK, draws, splitmix64, uniform_floats, uniform_integers

MASK = (1 << 64) - 1
# rand_xoshiro's test vector for xoroshiro128** from the state (1, 2), made with the authors' C code.
PUBLISHED = [
    5760,
    97769243520,
    9706862127477703552,
    9223447511460779954,
    8358291023205304566,
    15695619998649302768,
    8517900938696309774,
    16586480348202605369,
    6959129367028440372,
    16822147227405758281,
]


def rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def xoroshiro(s0, s1, count):
    for _ in range(count):
        yield (rotated(s0 * 5 & MASK, 7) * 9) & MASK
        s1 ^= s0
        s0, s1 = rotated(s0, 24) ^ s1 ^ (s1 << 16 & MASK), rotated(s1, 37)


def test_scalar_transcription_agrees_with_the_published_vector():
    assert list(xoroshiro(1, 2, len(PUBLISHED))) == PUBLISHED


def test_first_seeding_draw():
    assert splitmix64(1000, 1) == [0x3C1EBA8B4DCCC148]


@pytest.mark.parametrize("seed", [0, 1000, 7400, MASK, -1])
@pytest.mark.parametrize("count", [1, 5, BLOCK, BLOCK + 1, 5 * BLOCK + 3])
def test_vectorised_stream_is_the_scalar_one(seed, count):
    assert draws(seed, count).tolist() == list(xoroshiro(*splitmix64(seed, 2), count))


def test_no_draws():
    assert draws(3, 0).size == 0


def test_floats_use_the_top_53_bits():
    x = np.array([0, 1 << 11, MASK], np.uint64)
    assert uniform_floats(x, -1, 1).tolist() == [-1.0, -1.0 + 2.0**-52, 1.0 - 2.0**-52]


def test_integers_include_both_ends():
    made = uniform_integers(draws(4, 4000), -1, 2)
    assert sorted(set(made.tolist())) == [-1, 0, 1, 2]
    assert made[:50].tolist() == [-1 + d % 4 for d in draws(4, 50).tolist()]
    assert uniform_integers(draws(4, 3), -(2**63), 2**63 - 1).dtype == np.int64
