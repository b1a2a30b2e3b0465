"""Runs the handwritten kernels of dp_by_hand.cl, with which bench_dp.py compares the framework."""

from __future__ import annotations

import types
from pathlib import Path

import numpy as np

from clgeom.core.build import build
from clgeom.core.policies import ceil_div
from clgeom.core.tuning import select
from clgeom.dp.paths import rows


class ByHand:
    """The kernels of dp_by_hand.cl, and buffers for them."""

    def __init__(self, session):
        import pyopencl as cl

        self.cl, self.session, self.cpu = cl, session, session.profile.is_cpu
        self.source = (Path(__file__).parent / "dp_by_hand.cl").read_text(encoding="utf-8")
        self.kernels = {}

    def kernel(self, name, **macros):
        key = name, tuple(macros.items())
        if key not in self.kernels:
            head = "".join(f"#define {k} {v}\n" for k, v in macros.items())
            self.kernels[key] = self.cl.Kernel(build(self.session, head + self.source, caller=name), name)
        return self.kernels[key]

    def buffer(self, nbytes):
        return self.session.pool.allocate(max(int(nbytes), 4))

    def put(self, values):
        buffer = self.buffer(values.nbytes)
        self.cl.enqueue_copy(self.session.queue, buffer, values)
        return buffer

    def zeros(self, nbytes):
        buffer = self.buffer(nbytes)
        self.cl.enqueue_fill_buffer(self.session.queue, buffer, np.uint8(0), 0, int(nbytes))
        return buffer

    def launch(self, kernel, groups, wg, changed):
        """Launch again with other numbers, {argument's index: NumPy scalar}, set as raw bytes, which is fastest."""
        for place, number in changed.items():
            kernel._set_arg_buf(place, number)
        self.cl.enqueue_nd_range_kernel(self.session.queue, kernel, (groups * wg,), (wg,))

    def get(self, buffer, dtype, count, start=0):
        out = np.empty(count, dtype)
        self.cl.enqueue_copy(self.session.queue, out, buffer, src_offset=start * out.itemsize)
        return out

    def rows(self, reaches, m, keep, w, v, **macros):
        """Fill rows 1 .. of a table with row 0: in each launch as many as their reaches to the left allow."""
        n, pitch = len(reaches) + 1, ceil_div(m, 32) * 32
        wg, tile, parts = self.parts_of_rows(reaches, m)
        table = self.buffer(4 * pitch * (n if keep == 1 else 2))
        self.cl.enqueue_fill_buffer(self.session.queue, table, np.int32(0), 0, 4 * pitch)
        if not macros["KNAPSACK"]:
            self.cl.enqueue_fill_buffer(self.session.queue, table, np.int32(1), 0, 4)
        kernel = self.kernel("fused_rows", WG_SIZE=wg, TILE=tile, KEEP=keep, **macros)
        scratch = self.buffer(12 * tile * ceil_div(m, tile - max(p[2] for p in parts)) if self.cpu else 4)
        bits = self.buffer(n * pitch // 8 if keep == 2 else 4)
        zero, none = np.int32(0), np.uint64(0)
        args = w, v, zero, zero, zero, np.int32(m), np.uint64(pitch), table, none, none, scratch, bits
        kernel.set_args(*args)
        turn = 0
        for first, count, margin in parts:
            changed = dict(zip((2, 3, 4), map(np.int32, (first, count, margin))))
            changed |= {
                8: np.uint64(pitch * (first - 1 if keep == 1 else turn)),
                9: np.uint64(pitch * (1 - turn)),
            }
            self.launch(kernel, ceil_div(m, tile - margin), wg, changed)
            turn = 1 - turn
        self.session.queue.finish()
        return table, pitch, (n - 1 if keep == 1 else turn), bits

    def parts_of_rows(self, reaches, m):
        """Items of a group, columns of a tile, and for each launch its first row, number of rows, and margin."""
        n, sums = len(reaches) + 1, np.concatenate([[0], np.cumsum(reaches)])

        def parts(most, room):
            ends = np.minimum(np.arange(most, n + most), n - 1)  # of launches from row r + 1 on
            if room:
                ends = np.minimum(ends, np.searchsorted(sums, sums + room, "right") - 1)
            found, first, ends, so_far = [], 0, ends.tolist(), sums.tolist()
            while first < n - 1:
                end = ends[first]
                margin = ceil_div(so_far[end] - so_far[first], 32) * 32 if room else 0
                found.append((first + 1, end - first, margin))
                first = end
            return found

        if not self.cpu:
            if m <= 2048:  # one group: nothing is computed twice
                return 256, ceil_div(m, 256) * 256, parts(n, 0)
            # the tuned shape of the framework
            kind = types.SimpleNamespace(dtype=np.dtype(np.int32), decisions=None)
            job = types.SimpleNamespace(
                shape=(n, m), equation=kind, keep="table", keeps_choices=False, session=self.session
            )
            policy = select(self.session.profile, rows.FUSED, kind.dtype, n * m)
            policy, _, room = rows.shape_of(job, policy, np.append(0, reaches), np.zeros(n, np.int64))
            return policy.wg_size, policy.tile, parts(64, room)
        core = min(max(ceil_div(ceil_div(m, self.session.profile.compute_units), 32) * 32, 1024), 1 << 16)
        room = core // 2
        # measured: 8e9 cells a second for each item, margins twice, and 40 us for a launch of several items
        saved = n * m * (1 - 1.25 / ceil_div(m, core)) / 8e9
        if core < m and reaches.max() <= room and saved > max(n / 64, int(sums[-1]) / room) * 40e-6:
            return 1, core + room, [(first, count, room) for first, count, _ in parts(64, room)]
        return 1, ceil_div(m, 32) * 32, parts(max(64, (1 << 23) // m), 0)

    def binomial(self, n, m, keep=1):
        nothing = self.buffer(4)
        return self.rows(np.ones(n - 1, np.int64), m, keep, nothing, nothing, KNAPSACK=0)

    def knapsack(self, w, v, capacity, keep=1):
        return self.rows(np.minimum(w, capacity + 1), capacity + 1, keep, self.put(w), self.put(v), KNAPSACK=1)

    def lcs(self, a, b, keep=1):
        """Return the table of cells, or of choices of two bits (``keep=2``), its columns, and the last row."""
        shape = select(self.session.profile, "dp/paths/tile_sweep")
        wg, rows, columns, steps = shape.wg_size, shape.block_rows, shape.block_columns, shape.steps
        sizes = {"WG_SIZE": wg, "ROWS": rows, "COLUMNS": columns, "STEPS": steps, "STRIPS": shape.strips}
        kernel = self.kernel("lcs_tiles", **sizes, KEEP=int(keep))
        strips, blocks = ceil_div(len(a), wg * rows * shape.strips), ceil_div(len(b), columns)
        height, width = strips * wg * rows * shape.strips, blocks * columns
        tiles, lag = ceil_div(blocks + wg - 1, steps), 2 + (wg - 2) // steps
        padded = [
            np.concatenate([s, np.full(size - len(s), fill, np.int32)])
            for s, size, fill in ((a, height, -1), (b, width, -2))
        ]
        table = self.buffer({0: 4, 1: 4 * height * width, 2: height * width // 4}[int(keep)])
        edge, items = self.zeros(4 * width), height // rows
        buffers = (
            *map(self.put, padded),
            np.uint32(len(b)),
            np.uint64(width),
            table,
            edge,
            self.zeros(4 * items * (rows + 1)),
            self.zeros(4 * items * columns),
        )
        kernel.set_args(*buffers, np.uint32(0), np.uint32(0), np.uint32(lag))
        for launch in range(lag * (strips - 1) + tiles):
            first = max(0, ceil_div(launch - tiles + 1, lag))
            count = min(strips - 1, launch // lag) - first + 1
            if count > 0:
                self.launch(kernel, count, wg, {8: np.uint32(launch), 9: np.uint32(first)})
        self.session.queue.finish()
        return table, width, edge

    def matrix_chain(self, d, keep=1):
        """Return the table, padded to whole tiles, the cells of a row, and the splits (``keep=2``)."""
        side = 64
        tiles = ceil_div(len(d) - 1, side)
        pitch = tiles * side
        if self.cpu and pitch % 1024 == 0:
            pitch += 32  # rows that are a multiple of 4 KiB apart share lines of a CPU's cache
        dims = self.put(np.append(d, np.ones(pitch + 1 - len(d), np.int32)))
        table, splits = self.zeros(4 * pitch * pitch), self.buffer(4 * pitch * pitch if keep == 2 else 4)
        size, zero = np.int32(pitch), np.int32(0)
        if self.cpu:
            kernel = self.kernel("chain_tiles", WG_SIZE=1, SIDE=side, KEEP=keep)
            kernel.set_args(size, zero, dims, table, splits)
            for diagonal in range(tiles):
                self.launch(kernel, tiles - diagonal, 1, {1: np.int32(diagonal)})
            self.session.queue.finish()
            return table, pitch, splits
        macros = {"WG_SIZE": 512, "SIDE": side, "KEEP": keep}
        product, finish = self.kernel("chain_product", **macros), self.kernel("chain_finish", **macros)
        units = self.session.profile.compute_units
        parts = [max(min(k, ceil_div(4 * units, tiles - k)), 1) for k in range(tiles)]
        room = side * side * max(count * (tiles - k) for k, count in enumerate(parts))
        best, ks = self.buffer(4 * room), self.buffer(4 * room if keep == 2 else 4)
        product.set_args(size, zero, zero, dims, table, best, ks)
        finish.set_args(size, zero, zero, dims, table, best, ks, splits)
        for diagonal, count in enumerate(parts):
            changed = {1: np.int32(diagonal), 2: np.int32(count)}
            if diagonal:
                self.launch(product, (tiles - diagonal) * count, 256, changed)
            self.launch(finish, tiles - diagonal, 512, changed)
        self.session.queue.finish()
        return table, pitch, splits
