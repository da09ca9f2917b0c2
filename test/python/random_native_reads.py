"""Random reads of the files of random_native: `answers(seed, folder)` yields (job, answer) pairs, the jobs the same in
every process. Elements are read by H5Dread itself, so that any type in memory can be asked for.

Answers are digests of all of the memory that was given, in which what is not an element has a pattern before, so that
nothing else may be written. Bytes of padding between the members of compounds are left out: HDF5 gives them no value
(they are what was in its conversion buffer, or in the file, or in memory before)."""
import ctypes
import json
import random
import zlib

import h5py
import numpy as np
from h5py import h5d, h5p, h5r, h5s, h5t

import every_type
import memory
from libhdf5 import HID, LIB
from random_native import describe_type

READS = 14  # of a dataset, and as many again by h5py's words in one of four
MOST_VARIABLE = 300  # elements that are more than their bytes
PATTERN = 0xA5
ERRORS = (OSError, KeyError, RuntimeError, ValueError, TypeError, IndexError, MemoryError, AttributeError, AssertionError,
          OverflowError, UnicodeError, NotImplementedError)
LIB.H5Dread.restype = ctypes.c_int
LIB.H5Dread_multi.restype = ctypes.c_int
LIB.H5Tget_native_type.restype = ctypes.c_int64
LIB.H5Tget_size.restype = ctypes.c_size_t


# --- types in memory ----------------------------------------------------------------------------------------------

def number_type(rng):
    if rng.random() < 0.2:
        return rng.choice([every_type.integer(h5t.STD_I16LE, 11, 2), every_type.integer(h5t.STD_U32BE, 24, 4), h5t.NATIVE_LDOUBLE,
                           every_type.custom_float(2, (15, 7, 8, 0, 7), 127)])
    return h5t.py_create(np.dtype(rng.choice("<>") + rng.choice(["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"])))


def converted(rng, made):
    """A type that HDF5 can mostly convert `made` to."""
    kind = made.get_class()
    if kind in (h5t.INTEGER, h5t.FLOAT, h5t.ENUM):
        return number_type(rng) if rng.random() < 0.8 else made
    if kind == h5t.BITFIELD:
        return rng.choice([h5t.STD_B8LE, h5t.STD_B16BE, h5t.STD_B32LE, h5t.STD_B64BE])
    if kind == h5t.STRING and not made.is_variable_str():
        return every_type.string(rng.randrange(1, 9), rng.choice([h5t.STR_NULLTERM, h5t.STR_NULLPAD, h5t.STR_SPACEPAD]), made.get_cset())
    if kind == h5t.ARRAY:
        return h5t.array_create(converted(rng, made.get_super()), made.get_array_dims())
    if kind == h5t.VLEN:
        item = converted(rng, made.get_super())
        return h5t.vlen_create(item) if memory.value_bytes(item).all() else made  # (padding would be compared)
    return some_members(rng, made) if kind == h5t.COMPOUND else made


def some_members(rng, made):
    """Some members, in any order, and sometimes one that no file has."""
    numbers = sorted(range(made.get_nmembers()), key=made.get_member_name)  # (HDF5 sorts them when it converts)
    rng.shuffle(numbers)
    members, at = {}, 0
    for i in numbers[: rng.randrange(1, len(numbers) + 1)]:
        member = made.get_member_type(i)
        member = converted(rng, member) if rng.random() < 0.4 else member
        at += rng.choice([0, 0, 0, 2, 5])
        members[made.get_member_name(i)] = at, member
        at += member.get_size()
    if rng.random() < 0.15:
        members[b"of no file"] = at, h5t.STD_I32LE
        at += 4
    result = h5t.create(h5t.COMPOUND, at + rng.choice([0, 0, 3]))
    for name, (offset, member) in members.items():
        result.insert(name, offset, member)
    return result


def memory_type(rng, made):
    chosen = rng.random()
    if chosen < 0.35:
        return made
    if chosen < 0.55 and made.get_class() != h5t.COMPOUND:  # (whose members come in any order)
        native = LIB.H5Tget_native_type(HID(made.id), 0)
        return h5t.TypeID(native).copy() if native > 0 else made
    return converted(rng, made)


# --- selections ---------------------------------------------------------------------------------------------------

def random_box(rng, dims, strided):
    start, count, stride, block = [], [], [], []
    for n in dims:
        size = rng.choice([1, 1, 2, 3]) if strided else 1
        step = size + rng.choice([0, 1, 1, 2, 5]) if strided else 1
        first = rng.randrange(max(n - size, 0) + 1) if rng.random() < 0.7 else 0
        most = max((n - first - size) // step + 1, 1)
        start.append(first)
        count.append(most if rng.random() < 0.4 else rng.randrange(1, most + 1))
        stride.append(step)
        block.append(size)
    return tuple(start), tuple(count), tuple(stride), tuple(block)


def select_some(rng, space, points_too):
    """Selects in a simple space that has elements; says how."""
    dims, chosen = space.shape, rng.random() * (1 if points_too else 0.8)
    if chosen < 0.35:
        space.select_hyperslab(*random_box(rng, dims, False))
        return "box"
    if chosen < 0.6:
        space.select_hyperslab(*random_box(rng, dims, True))
        return "strides"
    if chosen < 0.8:
        space.select_hyperslab(*random_box(rng, dims, rng.random() < 0.5))
        operations = [h5s.SELECT_OR, h5s.SELECT_OR, h5s.SELECT_XOR, h5s.SELECT_NOTB, h5s.SELECT_AND]
        for _ in range(rng.randrange(1, 4)):
            space.select_hyperslab(*random_box(rng, dims, rng.random() < 0.5), op=rng.choice(operations))
        return "boxes"
    points = [[rng.randrange(n) for n in dims] for _ in range(rng.randrange(1, 200))]
    if rng.random() < 0.5:
        points.sort()
    space.select_elements(points)
    return "points"


def spaces_of(rng, dataset):
    """(words, file space or 0, memory space or 0, elements of the memory)."""
    space = dataset.get_space()
    if space.get_simple_extent_type() != h5s.SIMPLE:
        return "all", 0, 0, space.get_simple_extent_npoints()
    total = space.get_simple_extent_npoints()
    chosen = rng.random()
    if chosen < 0.15 or (total == 0 and chosen < 0.9):
        return "all", 0, 0, total
    if chosen < 0.2:
        space.select_none()
        return "none", space, space, total
    if chosen < 0.25:
        space.select_hyperslab(tuple(rng.choice([0, n]) for n in space.shape), tuple(rng.choice([1, n + 1]) for n in space.shape))
        return "beyond", space, h5s.create_simple((max(space.get_select_npoints(), 1),)), max(space.get_select_npoints(), 1)
    if total == 0:
        return "all", 0, 0, 0
    # Of points in a virtual dataset HDF5 says that it does not know them, or crashes.
    points_too = dataset.get_create_plist().get_layout() != h5d.VIRTUAL
    words = select_some(rng, space, points_too)
    words, mem, elems = memory_of(rng, space, words, points_too)
    return words, space, mem, elems


def memory_of(rng, space, words, points_too):
    chosen, count = rng.random(), space.get_select_npoints()
    if chosen < 0.4 or count == 0:
        return words, h5s.create_simple((max(count, 1),)) if count else space, max(count, 1) if count else space.get_simple_extent_npoints()
    if chosen < 0.5:
        return f"{words} where they are", space.copy(), space.get_simple_extent_npoints()
    if chosen < 0.7:
        step = rng.randrange(1, 4)
        mem = h5s.create_simple((count + 1, step))
        mem.select_hyperslab((rng.randrange(2), rng.randrange(step)), (count, 1))
        return f"{words} into a column", mem, (count + 1) * step
    if chosen < 0.85 and count <= 3000 and points_too:
        mem = h5s.create_simple((count,))
        mem.select_elements([[i] for i in rng.sample(range(count), count)])
        return f"{words} in another order", mem, count
    if chosen < 0.9:
        return f"{words} into too few", h5s.create_simple((count + 1,)), count + 1
    mem = h5s.create_simple((2 * count + 7,))
    mem.select_hyperslab((rng.randrange(8),), (count,), (2,))
    return f"{words} into every second", mem, 2 * count + 7


# --- one read -----------------------------------------------------------------------------------------------------

class Read:
    """The arguments of H5Dread, and what it made of the memory."""

    def __init__(self, rng, f, dataset):
        self.file, self.dataset = f, dataset
        self.type = memory_type(rng, dataset.get_type())
        self.words, self.file_space, self.mem_space, elems = spaces_of(rng, dataset)
        self.has_pointers = memory.holds_pointers(self.type)
        self.elems = elems if not self.has_pointers or elems <= MOST_VARIABLE else 0
        self.is_possible = self.elems == elems
        self.buffer = ctypes.create_string_buffer(max(elems * self.type.get_size(), 1))
        if not self.has_pointers:
            ctypes.memset(self.buffer, PATTERN, len(self.buffer))

    def __str__(self):
        return f"{self.words} as {describe_type(self.type)}"

    def arguments(self):
        identifier = lambda one: HID(one.id if one else 0)
        return HID(self.dataset.id), HID(self.type.id), identifier(self.mem_space), identifier(self.file_space)

    def found(self, whole):
        if not self.elems:
            return "none"
        if self.has_pointers:
            start, size = ctypes.addressof(self.buffer), self.type.get_size()
            said = json.dumps([memory.element(start + i * size, self.type, self.file) for i in range(self.elems)])
            return said if whole else f"{zlib.crc32(said.encode()):08x}"
        elements = np.frombuffer(self.buffer, "u1")[: self.elems * self.type.get_size()].reshape(self.elems, -1)
        kept = np.where(memory.value_bytes(self.type), elements, np.uint8(0))
        return kept.tobytes().hex() if whole else f"{zlib.crc32(kept.tobytes()):08x}"


def transfer_list(rng, made):
    """(words, list), for a read as `made`"""
    plist, chosen = h5p.create(h5p.DATASET_XFER), rng.random()
    if chosen < 0.06:
        LIB.H5Pset_buffer(HID(plist.id), ctypes.c_size_t(rng.choice([1000, 5000])), None, None)
        return " by a small buffer", plist
    if chosen < 0.1:
        LIB.H5Pset_data_transform(HID(plist.id), b"2*x+1")
        return " as 2*x+1", plist
    if chosen < 0.12:
        LIB.H5Pset_edc_check(HID(plist.id), 0)
        return " unchecked", plist
    if chosen < (0.14 if made.detect_class(h5t.COMPOUND) else 0.16):
        LIB.H5Pset_type_conv_cb(HID(plist.id), CONVERSIONS[chosen < 0.14], None)
        return " refusing" if chosen < 0.14 else " handling", plist
    return "", plist


# What a program does about values that a type cannot hold: stops, or leaves something of its own.
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_int64, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


def handle(exception, source_type, target_type, source, target, data):
    ctypes.memset(target, 7, LIB.H5Tget_size(HID(target_type)))
    return 1


CONVERSIONS = {True: CALLBACK(lambda *_: -1), False: CALLBACK(handle)}


def raw_answers(rng, f, dataset, whole):
    for _ in range(READS):
        read = Read(rng, f, dataset)
        words, plist = transfer_list(rng, read.type)
        if read.is_possible:
            failed = LIB.H5Dread(*read.arguments(), HID(plist.id), read.buffer) < 0
            yield f"{read}{words}", "error" if failed else read.found(whole)


def together(rng, f, datasets, whole):
    """Several in one call, none of them twice, nor by a virtual one: HDF5 fails to tell their chunks apart."""
    chosen = rng.sample(datasets, min(len(datasets), rng.randrange(2, 5)))
    reads = [one for one in (Read(rng, f, dataset) for dataset in chosen) if one.is_possible]
    if reads:
        lists = [(HID * len(reads))(*one) for one in zip(*[[word.value for word in read.arguments()] for read in reads])]
        buffers = (ctypes.c_void_p * len(reads))(*[ctypes.addressof(read.buffer) for read in reads])
        failed = LIB.H5Dread_multi(ctypes.c_size_t(len(reads)), *lists, HID(0), buffers) < 0
        yield " and ".join(map(str, reads)), "error" if failed else " ".join(read.found(whole) for read in reads)


# --- in h5py's words ----------------------------------------------------------------------------------------------

def plain(value):
    """As JSON has it."""
    if isinstance(value, np.ndarray) and value.dtype == object or isinstance(value, (list, tuple, np.void)):
        return [plain(one) for one in (value.ravel() if isinstance(value, np.ndarray) else value.item() if isinstance(value, np.void) else value)]
    if isinstance(value, np.ndarray) and value.dtype.names:
        return [plain(value[name]) for name in value.dtype.names]
    if isinstance(value, np.ndarray):
        return [str(value.dtype), value.shape, zlib.crc32(np.ascontiguousarray(value).view("u1")) if value.size else 0]
    return type(value).__name__ if isinstance(value, (h5r.Reference, h5py.Empty)) else repr(value)


def index_of(rng, shape, points_too):
    chosen = rng.random()
    if not shape or chosen < 0.1:
        return ()
    if chosen < 0.2 and np.prod(shape) < 5000 and points_too:
        return np.array([rng.random() < 0.3 for _ in range(int(np.prod(shape)))]).reshape(shape)
    index, listed = [], False
    for n in shape:
        kind = rng.random()
        if kind < 0.2 and n:
            index.append(rng.randrange(-n, n) if rng.random() < 0.95 else n)
        elif kind < 0.35 and n and not listed:
            listed = True
            index.append(sorted(rng.sample(range(n), rng.randrange(n + 1))))
        else:
            index.append(slice(rng.randrange(n + 1), rng.choice([None, rng.randrange(n + 1)]), rng.choice([None, 1, 2, 3])))
    return tuple(index)


def worded_answers(rng, dataset):
    for _ in range(READS):
        way, index, where = rng.random(), index_of(rng, dataset.shape or (), not dataset.is_virtual), rng.choice(["<f4", ">i2", "<f8", "<u1", "<c8", "S3"])
        pick = rng.random()
        try:
            names = dataset.dtype.names
            if way < 0.2:
                found = dataset.astype(where)[index]
            elif way < 0.5 and names:
                found = dataset.fields([names[int(pick * len(names))]])[index]
            elif way < 0.6:
                found = np.zeros(dataset.shape, dataset.dtype)
                dataset.read_direct(found)
            else:
                found = dataset[index]
            yield f"[{index}] {where if way < 0.2 else ''}", json.dumps(plain(found))
        except ERRORS:
            yield f"[{index}] {where if way < 0.2 else ''}", "error"


def open_dataset(rng, f, name):
    dapl = h5p.create(h5p.DATASET_ACCESS)
    if rng.random() < 0.2:
        dapl.set_chunk_cache(*rng.choice([(521, 0, 0.75), (521, 1 << 22, 0.75), (1, 100, 1.0)]))
    if rng.random() < 0.2:
        dapl.set_virtual_view(h5d.VDS_FIRST_MISSING if rng.random() < 0.5 else h5d.VDS_LAST_AVAILABLE)
    if rng.random() < 0.2:
        dapl.set_virtual_printf_gap(rng.choice([0, 1, 3]))
    return h5d.open(f.id, name.encode(), dapl)


def answers(seed, folder, whole=False):
    with h5py.File(f"{folder}/main.h5", "r") as f:
        datasets = []
        for name in sorted(name for name in f if name.startswith("b")):
            rng = random.Random(f"{seed} {name}")
            try:
                dataset = open_dataset(rng, f, name)
                yield f"{seed} {name} shape", json.dumps([dataset.shape, dataset.get_num_chunks() if dataset.get_create_plist().get_layout() == h5d.CHUNKED else 0])
            except ERRORS:
                yield f"{seed} {name} shape", "error"
                continue
            if dataset.get_create_plist().get_layout() != h5d.VIRTUAL:
                datasets.append(dataset)
            for words, answer in raw_answers(rng, f, dataset, whole):
                yield f"{seed} {name} {words}", answer
            if rng.random() < 0.25:
                for words, answer in worded_answers(rng, h5py.Dataset(dataset)):
                    yield f"{seed} {name} {words}", answer
        for _ in range(3 if datasets else 0):
            for words, answer in together(rng, f, datasets, whole):
                yield f"{seed} {words}", answer
