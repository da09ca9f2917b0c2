"""Random native HDF5 files: every class of types, layout, chunk index and filter, parts that were never written, extents
that changed, chunks that were stored without filters or are damaged, external storage and virtual datasets.

`make(seed, folder)` makes folder/main.h5, and what it refers to beside it; to be called without the connector."""
import ctypes
import random
import zlib

import h5py
import numpy as np
from h5py import h5d, h5f, h5p, h5s, h5t

import every_type
import random_model
from libhdf5 import HID, call

try:
    import hdf5plugin  # so that its filters are known
except ImportError:
    hdf5plugin = None

DATASETS = 8
# What HDF5 and h5py answer to combinations that make no sense: such a dataset is left out.
REFUSALS = (AssertionError, OSError, ValueError, RuntimeError, TypeError)
BLOCKS = [(7,), (5, 6), (4, 3, 3)]  # extents, by rank
PLUGINS = {"zstd": (32015, (3,)), "lz4": (32004, ()), "bitshuffle": (32008, (0, 2)), "blosc": (32001, (0, 0, 0, 0, 5, 1, 0)),
           "blosc zstd": (32001, (0, 0, 0, 0, 3, 2, 5))}


class Kind:
    """A type, and the bytes in memory of so many elements of it."""

    def __init__(self, made, data, is_fixed=True):
        self.type, self.data, self.is_fixed = made, data, is_fixed

    def __repr__(self):
        return describe_type(self.type)


def describe_type(made):
    kind = made.get_class()
    if kind == h5t.COMPOUND:
        members = [f"{made.get_member_offset(i)}: {describe_type(made.get_member_type(i))}" for i in range(made.get_nmembers())]
        return f"{{{', '.join(sorted(members))}; {made.get_size()}}}"
    if kind == h5t.ARRAY:
        return f"{describe_type(made.get_super())}{made.get_array_dims()}"
    if kind == h5t.VLEN:
        return f"vlen of {describe_type(made.get_super())}"
    order = "BE" if kind in (h5t.INTEGER, h5t.FLOAT, h5t.BITFIELD) and made.get_order() == h5t.ORDER_BE else ""
    odd = f" of {made.get_precision()} bits" if kind in (h5t.INTEGER, h5t.FLOAT) else ""
    return f"{type(made).__name__.removeprefix('Type').removesuffix('ID')}{made.get_size()}{order}{odd}"


def fixed_kind(rng):
    if rng.random() < 0.4:
        name, made = rng.choice(sorted(every_type.fixed_types().items()))
        return Kind(made, lambda r, count: r.randbytes(made.get_size() * count))
    made, element = random_model.fixed_type(rng)
    if rng.random() < 0.5:
        return Kind(made, lambda r, count: r.randbytes(made.get_size() * count))
    return Kind(made, lambda r, count: b"".join(element(r) for _ in range(count)))


def number_kind(rng):
    made, element = rng.choice([random_model.random_integer, random_model.random_float])(rng)
    return Kind(made, lambda r, count: b"".join(element(r) for _ in range(min(count, 1000))) * (count // 1000 + 1))


class Maker:
    def __init__(self, seed, folder):
        self.rng, self.folder = random.Random(seed), folder
        self.made = []  # (file, path, dims, kind) of what may be a source
        self.has_references = False  # for random_model.Kind

    def any_kind(self, referred):
        if self.rng.random() < 0.8:
            return fixed_kind(self.rng)
        kind = random_model.Kind(self.rng, self, referred)
        return Kind(kind.type, kind.data, kind.is_fixed)

    def open_file(self, name):
        low = self.rng.choice([h5f.LIBVER_EARLIEST, h5f.LIBVER_V18, h5f.LIBVER_V110, h5f.LIBVER_LATEST])
        fapl, fcpl = h5p.create(h5p.FILE_ACCESS), h5p.create(h5p.FILE_CREATE)
        fapl.set_libver_bounds(low, h5f.LIBVER_LATEST)
        if self.rng.random() < 0.1:
            fcpl.set_userblock(self.rng.choice([512, 4096]))
        elif self.rng.random() < 0.1:
            fcpl.set_file_space_strategy(h5f.FSPACE_STRATEGY_PAGE, False, 1)
        self.file, self.name = h5py.File(h5f.create(f"{self.folder}/{name}".encode(), h5f.ACC_TRUNC, fcpl, fapl)), name

    def dims(self):
        rng = self.rng
        rank = rng.choice([1, 1, 2, 2, 2, 3, 3, 4])
        most = {1: 300, 2: 30, 3: 12, 4: 6}[rank]
        return tuple(0 if rng.random() < 0.02 else rng.randrange(1, most + 1) for _ in range(rank))

    # --- creation -------------------------------------------------------------------------------------------------

    def set_fill(self, plist, kind, undefined=0.15):
        rng = self.rng
        plist.set_fill_time(rng.choice([h5d.FILL_TIME_IFSET, h5d.FILL_TIME_IFSET, h5d.FILL_TIME_ALLOC, h5d.FILL_TIME_NEVER]))
        chosen = rng.random()
        if chosen < 0.35 and kind.is_fixed:
            call("H5Pset_fill_value", HID(plist.id), HID(kind.type.id), kind.data(rng, 1))
        elif chosen < 0.35 + undefined:
            call("H5Pset_fill_value", HID(plist.id), HID(kind.type.id), None)
        plist.set_alloc_time(rng.choice([h5d.ALLOC_TIME_DEFAULT, h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_INCR, h5d.ALLOC_TIME_LATE]))

    def add_filters(self, plist, kind):
        """The names of what was added, in order."""
        rng, names = self.rng, []
        if rng.random() < 0.25:
            return names
        adders = {"shuffle": plist.set_shuffle, "deflate": lambda: plist.set_deflate(rng.randrange(10)),
                  "fletcher32": plist.set_fletcher32, "lzf": lambda: plist.set_filter(32000, h5py.h5z.FLAG_OPTIONAL, (4, 0, 0)),
                  "szip": lambda: plist.set_szip(rng.choice([4, 32]), rng.choice([2, 8, 16]))}
        for name, (number, words) in PLUGINS.items():
            if hdf5plugin and kind.is_fixed:  # (they divide by the size of what has none)
                adders[name] = lambda number=number, words=words: plist.set_filter(number, h5py.h5z.FLAG_OPTIONAL, words)
        weights = [6 if name in ("shuffle", "deflate", "fletcher32") else 2 for name in adders]
        if rng.random() < 0.12:
            names.append("nbit")
            plist.set_filter(h5py.h5z.FILTER_NBIT, 0, ())
        elif kind.type.get_class() == h5t.INTEGER and rng.random() < 0.15:
            names.append("scaleoffset")
            plist.set_scaleoffset(h5py.h5z.SO_INT, 0)  # (of any floats HDF5 makes something else each time)
        for name in rng.choices(list(adders), weights, k=rng.choice([0, 1, 1, 2, 2, 3])):
            if name.split()[0] not in " ".join(names):  # (blosc twice divides by zero)
                adders[name]()
                names.append(name)
        return names

    def set_chunks(self, plist, kind, dims):
        """The space, and what the chunks go through."""
        rng = self.rng
        growing = [rng.random() < rng.choice([0, 0.3, 1]) for _ in dims]
        most = tuple(h5s.UNLIMITED if grows and rng.random() < 0.7 else n + (rng.randrange(9) if grows else 0)
                     for n, grows in zip(dims, growing))
        whole = rng.random() < 0.1
        chunk = tuple(max(n, 1) if whole else rng.randrange(1, (n + 5 if m == h5s.UNLIMITED else max(m, 1)) + 1)
                      for n, m in zip(dims, most))
        while np.prod([-(-n // c) for n, c in zip(dims, chunk)]) > 200:
            chunk = tuple(min(2 * c, max(n, 1)) for n, c in zip(dims, chunk))
        plist.set_chunk(chunk)
        names = self.add_filters(plist, kind)
        if rng.random() < 0.2:
            call("H5Pset_chunk_opts", HID(plist.id), ctypes.c_uint(2))
            names.append("not at edges")
        return h5s.create_simple(dims, most), f"chunks {chunk} of {dims} to {most}", names

    def set_external(self, plist, kind, dims, path):
        left = kind.type.get_size() * int(np.prod(dims))
        while left > 0:
            size = self.rng.randrange(1, left + 1)
            name = self.rng.choice([f"{path}.raw", f"{path}.more", "shared.raw"])
            plist.set_external(f"{self.folder}/{name}".encode(), self.rng.randrange(40), size)
            left -= size

    def make_dataset(self, path):
        rng = self.rng
        kind = self.any_kind(["/", *(one[1] for one in self.made if one[0] == self.name)])
        plist, dims = h5p.create(h5p.DATASET_CREATE), self.dims()
        chosen, names, space = rng.random(), [], None
        if chosen < 0.03:
            kind, dims, chosen = number_kind(rng), (rng.randrange(100_000, 300_000),), 1
        self.set_fill(plist, kind)
        if chosen < 0.08:
            plist.set_layout(h5d.COMPACT)
            plist.set_alloc_time(h5d.ALLOC_TIME_EARLY)
            storage = "compact"
        elif chosen < 0.18:
            storage = "contiguous"
            if rng.random() < 0.2:
                dims, space = (), h5s.create(rng.choice([h5s.SCALAR, h5s.SCALAR, h5s.NULL]))
        elif chosen < 0.25 and kind.is_fixed:
            storage = "external"
            self.set_external(plist, kind, dims, path)
        else:
            space, storage, names = self.set_chunks(plist, kind, dims)
        space = space or h5s.create_simple(dims)
        dataset = h5d.create(self.file.id, path.encode(), kind.type, space, plist)
        dataset_says = f"{kind!r}, {storage}, {' '.join(names)}"
        self.file[path].attrs["made"] = dataset_says[:2000]
        # (Elements without a value would be seen through those of a virtual dataset, or not.)
        has_values = plist.get_fill_time() != h5d.FILL_TIME_NEVER and plist.fill_value_defined() != h5d.FILL_VALUE_UNDEFINED
        self.fill_in(dataset, kind, storage, names)
        if space.get_simple_extent_type() == h5s.SIMPLE and kind.is_fixed and has_values:
            self.made.append((self.name, path, dataset.shape, kind))

    # --- contents -------------------------------------------------------------------------------------------------

    def write(self, dataset, kind, part):
        rng, space = self.rng, dataset.get_space()
        dims = space.shape if space.get_simple_extent_type() == h5s.SIMPLE else ()
        if 0 in (dims or ()) or space.get_simple_extent_type() == h5s.NULL:
            return
        count = int(np.prod(dims))
        memory = 0
        if dims and part:
            start = tuple(rng.randrange(n) for n in dims)
            shape = tuple(rng.randrange(1, n - at + 1) for n, at in zip(dims, start))
            space.select_hyperslab(start, shape)
            count = int(np.prod(shape))
            memory = h5s.create_simple((count,))
        call("H5Dwrite", HID(dataset.id), HID(kind.type.id), HID(memory.id if memory else 0), HID(space.id if memory else 0),
             HID(0), kind.data(rng, count))

    def fill_in(self, dataset, kind, storage, names):
        rng = self.rng
        for _ in range(rng.choice([0, 1, 1, 2, 3])):
            try:
                if storage.startswith("chunks") and rng.random() < 0.4:
                    most = dataset.get_space().get_simple_extent_dims(True)
                    dataset.set_extent(tuple(min(max(n + rng.randrange(-6, 7), 0), 400 if m == h5s.UNLIMITED else m)
                                             for n, m in zip(dataset.shape, most)))
                self.write(dataset, kind, rng.random() < 0.6)
            except REFUSALS:
                pass  # a filter that cannot be applied
        if storage.startswith("chunks") and kind.is_fixed and rng.random() < 0.25:
            self.write_chunks(dataset, kind, names)

    def write_chunks(self, dataset, kind, names):
        """Chunks that lack some of their filters, or are damaged."""
        rng, chunk = self.rng, dataset.get_create_plist().get_chunk()
        numbers = dataset.get_create_plist().get_nfilters()
        if 0 in dataset.shape:
            return
        for _ in range(rng.randrange(1, 3)):
            corner = tuple(rng.randrange(-(-n // c)) * c for n, c in zip(dataset.shape, chunk))
            data, mask = kind.data(rng, int(np.prod(chunk)))[: int(np.prod(chunk)) * kind.type.get_size()], (1 << numbers) - 1
            if "deflate" in names and "not at edges" not in names and rng.random() < 0.5:
                data, mask = zlib.compress(data), mask & ~(1 << names.index("deflate"))
            elif names and names[-1] in ("deflate", "fletcher32") and rng.random() < 0.3:
                # (What is missing of a chunk that is too short is to HDF5 what was in its memory.)
                data, mask = rng.randbytes(50 if names[-1] == "deflate" else len(data) + 4), 0
            try:
                dataset.write_direct_chunk(corner, data, mask)
            except REFUSALS:
                pass

    # --- virtual datasets -----------------------------------------------------------------------------------------

    def mapped(self, source, dims, rows):
        """A part of `source`, and one as large of some rows of a target with `dims`: two spaces."""
        rng, start, at, counts, steps = self.rng, [], [], [], []
        for low, n, m in zip([rows.start] + [0] * len(dims), source, (len(rows), *dims[1:])):
            step = rng.choice([1, 1, 1, 2])
            count = rng.randrange(1, max(min(n // step, m), 1) + 1)
            start.append(rng.randrange(max(n - (count - 1) * step, 1)))
            at.append(low + rng.randrange(max(m - count, 0) + 1))
            counts.append(count)
            steps.append(step)
        spaces = h5s.create_simple(source), h5s.create_simple(dims)
        spaces[0].select_hyperslab(tuple(start), tuple(counts), tuple(steps))
        spaces[1].select_hyperslab(tuple(at), tuple(counts))
        return spaces

    def map_once(self, plist, dims, rows, choices):
        rng = self.rng
        file, path, source, _ = rng.choice(choices)
        chosen = rng.random()
        if chosen < 0.08:
            file = "missing.h5"
        elif chosen < 0.16:
            path = "/missing"
        from_space, to_space = self.mapped(source, dims, rows)
        plist.set_virtual(to_space, b"." if file == self.name and rng.random() < 0.7 else file.encode(), path.encode(), from_space)

    def make_blocks(self):
        """Sources of virtual datasets that are found by their names; one is missing. (All have the rank that is asked
        for: of another one HDF5 crashes.)"""
        for rank, dims in enumerate(BLOCKS, 1):
            for i in (0, 1, 3):
                self.file[f"{rank}of{i}"] = np.arange(np.prod(dims), dtype="<i4").reshape(dims) + 1000 * i

    def map_without_limit(self, plist, dims, choices, blocks):
        """Along the first dimension: of one source, or block by block of several."""
        file, path, source, _ = self.rng.choice(choices)
        target = h5s.create_simple(dims, (h5s.UNLIMITED, *dims[1:]))
        counts = tuple(max(min(n, m), 1) for n, m in zip(source, dims))[1:]
        start = (0,) * len(dims)
        block, one = (1, *counts), (1,) * len(dims)
        select = lambda space, *how: call("H5Sselect_hyperslab", HID(space.id), 0, *[
            (ctypes.c_uint64 * len(dims))(*[n % 2**64 for n in part]) for part in how])
        endless = (2**64 - 1, *(1,) * len(counts))
        if not blocks:
            space = h5s.create_simple(source, (h5s.UNLIMITED, *source[1:]))
            select(space, start, one, endless, block)
            select(target, start, one, endless, block)
            plist.set_virtual(target, file.encode(), path.encode(), space)
        else:
            source = BLOCKS[len(dims) - 1]
            counts = tuple(min(n, m) for n, m in zip(source, dims))[1:]
            space = h5s.create_simple(source)
            rows = 3
            select(space, start, one, one, (rows, *counts))
            select(target, start, (rows, *one[1:]), endless, (rows, *counts))
            name = self.rng.choice([("other.h5", f"/{len(dims)}of%b"), ("blocks%b.h5", f"/{len(dims)}of0"), (".", f"/{len(dims)}of%b")])
            plist.set_virtual(target, name[0].encode(), name[1].encode(), space)

    def make_virtual(self, path):
        rng = self.rng
        rank = rng.choice([1, 2, 2, 3])
        choices = [one for one in self.made if len(one[2]) == rank and 0 not in one[2]]
        if not choices:
            return
        dims, plist = tuple(rng.randrange(1, {1: 200, 2: 25, 3: 9}[rank]) for _ in range(rank)), h5p.create(h5p.DATASET_CREATE)
        kind = rng.choice(choices)[3]
        # (What has no name in another enumeration is to HDF5 whatever was in its memory.)
        same = kind.type.detect_class(h5t.ENUM)
        alike = [one for one in choices if (one[3].type.equal(kind.type) if same else
                                            one[3].type.get_class() == kind.type.get_class() and
                                            not one[3].type.detect_class(h5t.ENUM))]
        most = dims
        if rng.random() < 0.3:
            most = (h5s.UNLIMITED, *dims[1:])
            blocks = rng.random() < 0.5
            kind = Kind(h5t.STD_I32LE, lambda r, count: r.randbytes(4 * count)) if blocks else kind
            self.map_without_limit(plist, dims, alike, blocks)
        else:
            # (Where mappings overlap HDF5 takes gaps for covered, and leaves the memory as it is.)
            ends = sorted({0, dims[0], *(rng.randrange(dims[0]) for _ in range(rng.randrange(3)))})
            for low, high in zip(ends, ends[1:]):
                self.map_once(plist, dims, range(low, high), alike)
        self.set_fill(plist, kind, undefined=0)
        h5d.create(self.file.id, path.encode(), kind.type, h5s.create_simple(dims, most), plist)
        self.file[path].attrs["made"] = f"{kind!r}, virtual {dims}"[:2000]
        if most == dims:  # (How far another one follows it depends on what else is open.)
            self.made.append((self.name, path, dims, kind))


def make(seed, folder):
    maker = Maker(seed, folder)
    for name, count in (("other.h5", 4), ("blocks0.h5", 1), ("blocks1.h5", 1), ("main.h5", DATASETS)):
        maker.open_file(name)
        for i in range(count):
            virtual = name == "main.h5" and i >= DATASETS * 3 // 4
            try:
                (maker.make_virtual if virtual else maker.make_dataset)(f"/b{i}")
            except REFUSALS:
                pass
        maker.make_blocks()
        maker.file.close()
