"""Rows, segments and parts of host keys by NumPy in threads: the bits of the stable order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sort_keys import DISTRIBUTIONS, bits_of, in_parts, keys_of

from clgeom import argpartition, argsort, partition, sort, sort_by_key
from clgeom.sorting import parts
from clgeom.sorting.keys import key_order
from clgeom.sorting.radix import host_rows


@pytest.mark.parametrize("dtype", ("uint8", "int16", "float16", "uint32", "float32", "int64", "float64", "M8[s]"))
@given(data=st.data())
def test_segments_on_the_host_in_small_chunks(session, dtype, data):
    draw = lambda *choices: data.draw(st.sampled_from(choices))  # noqa: E731
    name = draw(*sorted(DISTRIBUTIONS))
    lengths = data.draw(st.lists(st.integers(0, 12), max_size=40)) + draw(
        [], [17, 33, 700], [90, 1], [3000], [150, 40, 260] * 3
    )
    lengths = draw(lengths, [len(lengths)] * 5)
    offsets = np.append(0, np.cumsum(lengths)).astype(np.int64)
    keys, descending = keys_of(name, offsets[-1], "int64" if dtype == "M8[s]" else dtype).view(dtype), draw(False, True)
    digits = key_order(keys.dtype, descending).digits(keys)
    order = np.lexsort([digits, np.repeat(np.arange(len(lengths)), lengths)])
    options = {"descending": descending, "offsets": offsets, "device": session}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(host_rows, "CHUNK", draw(7, 50, 1000))
        patch.setattr(host_rows, "LONGEST", draw(40, 1 << 14))
        np.testing.assert_array_equal(argsort(keys, **options), order)
        pairs = sort_by_key(keys, np.arange(len(keys)), **options)
        for found in (sort(keys, **options), pairs[0]):
            np.testing.assert_array_equal(bits_of(found), bits_of(keys[order]))
        np.testing.assert_array_equal(pairs[1], order)


def test_order_of_rows_of_wide_keys_that_agree_in_their_high_bits(session):
    keys = np.random.default_rng(1).integers(0, 2, (50, 40), np.int64) - (1 << 62)
    keys[::2, ::2] += np.int64(1) << 62
    for given_keys in (keys, keys.view(np.float64)):
        found = argsort(given_keys, device=session)
        np.testing.assert_array_equal(found, np.argsort(given_keys, axis=1, kind="stable"))


@pytest.mark.parametrize("dtype", ("uint8", "float16", "float32", "int64"))
@given(data=st.data())
def test_parts_by_a_sample(session, dtype, data):
    name, n = data.draw(st.sampled_from(sorted(DISTRIBUTIONS))), data.draw(st.sampled_from([1, 2, 300, 2049, 5000]))
    keys, places = keys_of(name, n, dtype), data.draw(st.lists(st.integers(-n, n - 1), min_size=1, max_size=4))
    order = in_parts(keys, places)
    with pytest.MonkeyPatch.context() as patch:
        for setting in {"CHUNK": 700, "LEAST_SHARED": 2000, "SPARSE": 1, "SAMPLES": 100}.items():
            patch.setattr(parts, *setting)
        np.testing.assert_array_equal(argpartition(keys, places, device=session), order)
        np.testing.assert_array_equal(bits_of(partition(keys, places, device=session)), bits_of(keys[order]))
        order = in_parts(keys, places[:1])
        np.testing.assert_array_equal(argpartition(keys, places[0], device=session), order)
        np.testing.assert_array_equal(bits_of(partition(keys, places[0], device=session)), bits_of(keys[order]))
