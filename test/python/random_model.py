"""Random trees of HDF5's whole model: types, spaces, layouts, fill values, filters, attributes, links, references,
committed types, comments, orders of creation, extents that change, objects that move and go.

`python random_model.py write FOLDER SUFFIX SEED...` makes FOLDER/SEED.SUFFIX of each seed and prints how every
operation went; `describe` prints what the files are like. Each operation draws from a generator of its own, so that
one that fails in one kind of file changes nothing of what follows.
"""
import ast
import ctypes
import json
import random
import struct
import sys

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5o, h5p, h5r, h5s, h5t

import memory
from described import describe
from every_type import compound, enum, integer, opaque, string
from libhdf5 import HID, call

OPERATIONS = 40
NAMES = ["a", "b", "data", "X", "with space", "ünï", "数", "x.y", "q" * 60, "0", "_hidden", "units"]


# --- types: each with a function that makes one element's bytes ---------------------------------------------------

def random_integer(rng):
    size, signed = rng.choice([1, 2, 4, 8]), rng.random() < 0.5
    base = getattr(h5t, f"STD_{'I' if signed else 'U'}{8 * size}{rng.choice(['LE', 'BE'])}")
    precision, offset = 8 * size, 0
    if rng.random() < 0.25:
        precision = rng.randrange(1, 8 * size + 1)
        offset = rng.randrange(8 * size - precision + 1)
    made = integer(base, precision, offset) if precision < 8 * size else base.copy()
    order = "big" if made.get_order() == h5t.ORDER_BE else "little"
    return made, lambda r: (r.getrandbits(precision) << offset).to_bytes(size, order)


def random_float(rng):
    kind, order = rng.choice("efd"), rng.choice("<>")
    return (h5t.py_create(np.dtype(order + kind)),
            lambda r: struct.pack(order + kind, r.choice([r.random(), -0.0, np.nan, np.inf, 1.5, -2.25])))


def random_text(rng):
    size = rng.randrange(1, 9)
    pad, cset = rng.choice([h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD]), rng.choice([h5t.CSET_ASCII, h5t.CSET_UTF8])
    room = size - (pad == h5t.STR_NULLTERM)
    filler = b" " if pad == h5t.STR_SPACEPAD else b"\0"
    return string(size, pad, cset), lambda r: bytes(r.choice(b"abcXYZ019") for _ in range(r.randrange(room + 1))).ljust(size, filler)


def random_enum(rng):
    if rng.random() < 0.3:
        made = enum(h5t.STD_I8LE, FALSE=0, TRUE=1)
        return made, lambda r: bytes([r.randrange(2)])
    base, order = rng.choice([(h5t.STD_I16LE, "<h"), (h5t.STD_I32BE, ">i"), (h5t.STD_U8LE, "<B")])
    members = {f"N{i}": value for i, value in enumerate(rng.sample(range(100), rng.randrange(1, 5)))}
    return enum(base, **members), lambda r: struct.pack(order, r.choice(list(members.values())))


def random_bits(rng):
    size = rng.choice([1, 2, 4, 8])
    return getattr(h5t, f"STD_B{8 * size}{rng.choice(['LE', 'BE'])}"), lambda r: r.randbytes(size)


def random_opaque(rng):
    size = rng.randrange(1, 7)
    return opaque(size, rng.choice([b"", b"tag", b"a long tag" * 5])), lambda r: r.randbytes(size)


def random_complex(rng):
    kind, order = rng.choice("fd"), rng.choice("<>")
    return (h5t.py_create(np.dtype(order + {"f": "c8", "d": "c16"}[kind])),
            lambda r: struct.pack(order + 2 * kind, r.random(), r.choice([-0.0, np.inf, 3.5])))


def random_array(rng, depth):
    base, element = fixed_type(rng, depth + 1)
    dims = tuple(rng.randrange(1, 4) for _ in range(rng.randrange(1, 3)))
    return h5t.array_create(base, dims), lambda r: b"".join(element(r) for _ in range(int(np.prod(dims))))


def random_compound(rng, depth):
    members, at = {}, 0
    for i in range(rng.randrange(1, 5)):
        at += rng.choice([0, 0, 0, 1, 3])
        made, element = fixed_type(rng, depth + 1)
        members[f"{rng.choice(['m', 'ä', 'r', ' '])}{i}"] = (at, made, element)
        at += made.get_size()
    size = at + rng.choice([0, 0, 2])
    made = compound(size, **{name: (offset, member) for name, (offset, member, _) in members.items()})

    def element(r):
        data = bytearray(size)
        for offset, member, part in members.values():
            data[offset:offset + member.get_size()] = part(r)
        return bytes(data)
    return made, element


def fixed_type(rng, depth=0):
    kinds = [random_integer] * 3 + [random_float] * 3 + [random_text, random_enum, random_bits, random_opaque, random_complex]
    if depth < 2:
        kinds += [lambda r: random_array(r, depth), lambda r: random_compound(r, depth)]
    return rng.choice(kinds)(rng)


class Kind:
    """A type, and memory of its elements."""

    def __init__(self, rng, tree, objects):
        what = rng.random()
        if what < 0.7:
            self.type, element = fixed_type(rng)
            self.data = lambda r, count: b"".join(element(r) for _ in range(count))
        elif what < 0.82:
            self.type = string(h5t.VARIABLE, rng.choice([h5t.STR_NULLTERM, h5t.STR_SPACEPAD]),
                               rng.choice([h5t.CSET_ASCII, h5t.CSET_UTF8]))
            self.data = lambda r, count: (ctypes.c_char_p * max(count, 1))(
                *[r.choice(["", "a", "text", "y" * 40]).encode() for _ in range(count)])
        elif what < 0.92:
            base, element = fixed_type(rng, 1)
            self.type = h5t.vlen_create(base)

            def sequences(r, count):
                lengths = [r.randrange(4) for _ in range(count)]
                return memory.lists([(n, b"".join(element(r) for _ in range(n))) for n in lengths])
            self.data = sequences
        else:
            self.type, f = h5t.STD_REF_OBJ.copy(), tree.file
            tree.has_references = True

            def references(r, count):
                array = (ctypes.c_uint64 * max(count, 1))()
                for i in range(count):
                    if r.random() < 0.8:
                        call("H5Rcreate", ctypes.byref(array, 8 * i), HID(f.id.id), r.choice(objects).encode(), h5r.OBJECT, HID(-1))
                return array
            self.data = references
        self.is_integer = self.type.get_class() == h5t.INTEGER
        self.is_fixed = what < 0.7

    def commit(self, group, name):
        self.type.commit(group.id, name.encode())


# --- operations ---------------------------------------------------------------------------------------------------

class Tree:
    """A file, and the paths that were made in it."""

    def __init__(self, path):
        fapl = h5p.create(h5p.FILE_ACCESS)
        fapl.set_libver_bounds(h5f.LIBVER_V114, h5f.LIBVER_V114)
        fcpl = h5p.create(h5p.FILE_CREATE)
        fcpl.set_link_creation_order(h5p.CRT_ORDER_TRACKED)
        self.path = path
        self.file = h5py.File(h5f.create(path.encode(), h5f.ACC_TRUNC, fcpl, fapl))
        self.made, self.has_references = {"/": "group"}, False

    def reopen(self):
        self.file.close()
        fapl = h5p.create(h5p.FILE_ACCESS)
        fapl.set_libver_bounds(h5f.LIBVER_V114, h5f.LIBVER_V114)
        self.file = h5py.File(h5f.open(self.path.encode(), h5f.ACC_RDWR, fapl))

    def any(self, rng, kind=None):
        return rng.choice(sorted(path for path, made in self.made.items() if kind in (None, made)))

    def new(self, rng):
        return self.any(rng, "group").rstrip("/") + "/" + rng.choice(NAMES)

    def forget(self, path):
        for gone in [one for one in self.made if one == path or one.startswith(path + "/")]:
            del self.made[gone]


def plist_orders(rng, plist):
    if rng.random() < 0.3:
        plist.set_attr_creation_order(rng.choice([0, h5p.CRT_ORDER_TRACKED, h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED]))
    if rng.random() < 0.2:
        plist.set_attr_phase_change(*rng.choice([(4, 2), (0, 0), (9, 7)]))


def make_group(rng, t):
    path, plist = t.new(rng), h5p.create(h5p.GROUP_CREATE)
    plist_orders(rng, plist)
    if rng.random() < 0.4:
        plist.set_link_creation_order(rng.choice([h5p.CRT_ORDER_TRACKED, h5p.CRT_ORDER_TRACKED | h5p.CRT_ORDER_INDEXED]))
    if rng.random() < 0.2:
        call("H5Pset_link_phase_change", HID(plist.id), *rng.choice([(4, 2), (0, 0)]))
    if rng.random() < 0.2:
        call("H5Pset_est_link_info", HID(plist.id), 9, 11)
    h5g.create(t.file.id, path.encode(), gcpl=plist)
    t.made[path] = "group"


def random_space(rng, chunked):
    if not chunked and rng.random() < 0.25:
        return h5s.create(rng.choice([h5s.SCALAR, h5s.SCALAR, h5s.NULL])), ()
    dims = tuple(rng.choice([0, 1, 2, 3, 5, 6]) for _ in range(rng.randrange(1, 4)))
    maximum = dims
    if chunked:
        maximum = tuple(rng.choice([h5s.UNLIMITED, n + 3, max(n, 1)]) for n in dims)
    return h5s.create_simple(dims, maximum), dims


FILTERS = {"shuffle": lambda p: p.set_shuffle(), "deflate": lambda p: p.set_deflate(4), "fletcher": lambda p: p.set_fletcher32(),
           "zstd": lambda p: p.set_filter(32015, h5py.h5z.FLAG_OPTIONAL, (3,))}
OF_INTEGERS = {"nbit": lambda p: p.set_filter(5, 0, ())}
if h5py.version.hdf5_version_tuple >= (2,):  # HDF5 1.14 cannot read some that it wrote
    OF_INTEGERS["scaleoffset"] = lambda p: p.set_scaleoffset(h5py.h5z.SO_INT, 0)


def set_storage(rng, plist, kind, chunked, space):
    if chunked:
        maximum = space.get_simple_extent_dims(True)
        plist.set_chunk(tuple(rng.randrange(1, 5 if most == h5s.UNLIMITED else most + 1) for most in maximum))
        filters = rng.sample(list(FILTERS.values()), rng.choice([0, 0, 1, 1, 2, 3]))
        if kind.is_integer and rng.random() < 0.3:  # they must be first
            filters = [rng.choice(list(OF_INTEGERS.values()))]
        for add in filters:
            add(plist)
        plist.set_alloc_time(rng.choice([h5d.ALLOC_TIME_DEFAULT, h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_INCR, h5d.ALLOC_TIME_LATE]))
    elif rng.random() < 0.3:
        plist.set_layout(h5d.COMPACT)
    else:
        plist.set_alloc_time(rng.choice([h5d.ALLOC_TIME_DEFAULT, h5d.ALLOC_TIME_EARLY, h5d.ALLOC_TIME_LATE]))
    if rng.random() < 0.3:
        plist.set_fill_time(h5d.FILL_TIME_ALLOC)


def make_dataset(rng, t):
    path, plist = t.new(rng), h5p.create(h5p.DATASET_CREATE)
    kind = Kind(rng, t, sorted(t.made))
    chunked = rng.random() < 0.6
    space, dims = random_space(rng, chunked)
    set_storage(rng, plist, kind, chunked, space)
    plist_orders(rng, plist)
    plist.set_obj_track_times(rng.random() < 0.3)
    committed = [one for one, made in t.made.items() if made == "type"]
    made = kind.type
    data = rng.choice(["none", "all", "part"])
    if committed and rng.random() < 0.4:
        made, data = t.file[rng.choice(sorted(committed))].id, "none"
    elif kind.is_fixed and rng.random() < 0.4:
        call("H5Pset_fill_value", HID(plist.id), HID(made.id), kind.data(rng, 1))
    if plist.get_layout() == h5d.CONTIGUOUS and data != "all" and plist.fill_value_defined() == h5d.FILL_VALUE_DEFAULT:
        plist.set_fill_time(h5d.FILL_TIME_ALLOC)  # else HDF5 leaves there what lay in its file before
    dataset = h5d.create(t.file.id, path.encode(), made, space, plist)
    t.made[path] = "dataset"
    count = int(np.prod(dims)) if space.get_simple_extent_type() == h5s.SIMPLE else 1
    if space.get_simple_extent_type() == h5s.NULL or not count:
        return
    if data == "all":
        memory.write("H5Dwrite", dataset.id, kind.type, kind.data(rng, count))
    elif data == "part" and dims:
        start = tuple(rng.randrange(n) for n in dims)
        shape = tuple(rng.randrange(1, n - at + 1) for n, at in zip(dims, start))
        space.select_hyperslab(start, shape)
        count = int(np.prod(shape))
        call("H5Dwrite", HID(dataset.id), HID(kind.type.id), HID(h5s.create_simple((count,)).id), HID(space.id), HID(0),
             kind.data(rng, count))


def resize(rng, t):
    dataset = t.file[t.any(rng, "dataset")].id
    most = dataset.get_space().get_simple_extent_dims(True)
    if dataset.get_create_plist().get_layout() == h5d.CHUNKED:
        dataset.set_extent(tuple(rng.randrange(8 if n == h5s.UNLIMITED else n + 1) for n in most))


def make_type(rng, t):
    path = t.new(rng)
    Kind(rng, t, ["/"]).commit(t.file, path)
    t.made[path] = "type"


def make_attribute(rng, t):
    at, kind = t.file[t.any(rng)], Kind(rng, t, sorted(t.made))
    space, dims = random_space(rng, False)
    name = rng.choice(NAMES + ["CLASS", "scale_factor"]).encode()
    attribute = h5a.create(at.id, name, kind.type, space)
    if space.get_simple_extent_type() != h5s.NULL:
        memory.write("H5Awrite", attribute.id, kind.type, kind.data(rng, int(np.prod(dims))))


def with_attribute(rng, t, change):
    at = t.file[t.any(rng)]
    if len(at.attrs):
        change(at, rng.choice(sorted(at.attrs)))


def remove_attribute(rng, t):
    with_attribute(rng, t, lambda at, name: h5a.delete(at.id, name.encode()))


def rename_attribute(rng, t):
    with_attribute(rng, t, lambda at, name: h5a.rename(at.id, name.encode(), rng.choice(NAMES).encode()))


def make_link(rng, t):
    path, what = t.new(rng), rng.random()
    if what < 0.4:
        t.file[path] = h5py.SoftLink(rng.choice([t.any(rng), "/no/where", "a/b", "."]))
    elif what < 0.6:
        t.file[path] = h5py.ExternalLink(rng.choice(["other.h5", "x y.h5"]), rng.choice(["/", "/x/y", "z"]))
    else:
        t.file[path] = t.file[t.any(rng)]


def remove(rng, t):
    """HDF5 lets references to what was removed lead to what comes to lie there, and keeps a type that is in use."""
    path = t.any(rng)
    found = [t.file[path]]
    if isinstance(found[0], h5py.Group):
        found[0].visititems(lambda name, one: found.append(one))
    if path != "/" and not t.has_references and not any(isinstance(one, h5py.Datatype) for one in found):
        del t.file[path]
        t.forget(path)


def move(rng, t):
    source, target = t.any(rng), t.new(rng)
    if source != "/" and not target.startswith(source + "/"):
        t.file.move(source, target)
        moved = {target + one[len(source):]: made for one, made in t.made.items() if one == source or one.startswith(source + "/")}
        t.forget(source)
        t.made.update(moved)


def copy(rng, t):
    source, target = t.any(rng), t.new(rng)
    if source == "/" or target.startswith(source + "/"):
        return
    t.file.copy(source, target)
    t.made[target] = t.made[source]


def comment(rng, t):
    h5o.set_comment(t.file[t.any(rng)].id, rng.choice([b"", b"a comment", "ü".encode()]))


def reopen(rng, t):
    t.reopen()


OPERATORS = ([make_group] * 4 + [make_dataset] * 9 + [make_attribute] * 8 + [make_type] * 2 + [make_link] * 4 +
             [resize, remove, remove_attribute, rename_attribute, move, copy, comment, reopen])


def write(path, seed):
    """How each operation went."""
    tree, outcomes = Tree(path), []
    for i in range(OPERATIONS):
        rng = random.Random(f"{seed} {i}")
        operator = rng.choice(OPERATORS)
        try:
            operator(rng, tree)
            outcomes.append(operator.__name__)
        except (KeyError, ValueError, TypeError, RuntimeError, OSError, AssertionError, IndexError) as error:
            outcomes.append(f"{operator.__name__}: {type(error).__name__}")
            print(seed, i, operator.__name__, error, file=sys.stderr)
    tree.file.close()
    return outcomes


def described(path):
    """What there is, with one name for each object: references tell any of several."""
    names = {}
    with h5py.File(path, "r") as f:
        groups = ["/"]
        while groups:
            group = groups.pop()
            names.setdefault(h5o.get_info(f[group].id).addr, []).append(group)
            if len(names[h5o.get_info(f[group].id).addr]) > 1 or not isinstance(f[group], h5py.Group):
                continue
            groups += [group.rstrip("/") + "/" + name for name in f[group]
                       if isinstance(f[group].get(name, getlink=True), h5py.HardLink)]
        return renamed(describe(path), lambda told: first_name(f, names, told))


def first_name(f, names, told):
    """The first of an object's names, for any path that leads to it: HDF5 may tell one through another link to a group."""
    path = ast.literal_eval(told)
    if not isinstance(path, bytes) or path not in f:
        return told
    same = names.get(h5o.get_info(f[path].id).addr)
    return repr(min(same).encode()) if same else told


def renamed(value, first):
    """A description with one name for each object."""
    if isinstance(value, list):
        if len(value) == 2 and value[0] == "object":
            return ["object", first(value[1])]
        return [renamed(one, first) for one in value]
    if isinstance(value, dict):
        return {key: first(one) if key == "committed" else renamed(one, first) for key, one in value.items()}
    return value


if __name__ == "__main__":
    action, folder, suffix, *seeds = sys.argv[1:]
    act = {"write": lambda seed: write(f"{folder}/{seed}.{suffix}", seed),
           "describe": lambda seed: described(f"{folder}/{seed}.{suffix}")}[action]
    json.dump({seed: act(seed) for seed in seeds}, sys.stdout)
