"""Random sequences of operations, on an HDF5 file and on a store: every answer, and in the end everything
that can be asked, is the same. A failing sequence names its seed: H5ZARR_DIFFERENTIAL_SEED begins there."""
import os
import random
import time

import h5py
import numpy as np
import pytest

SECONDS = float(os.environ.get("H5ZARR_DIFFERENTIAL_SECONDS", "5"))
FIRST_SEED = int(os.environ.get("H5ZARR_DIFFERENTIAL_SEED", "1"))
OPERATIONS = 40

POINT = np.dtype([("a", "<i2"), ("b", ">f4"), ("s", "S3")])
TYPES = {
    **{name: np.dtype(name) for name in ["?", "i1", "<i2", ">i4", "<i8", "u1", "<u8", "<f2", "<f4", ">f8", "<c8", "S4"]},
    "utf8": h5py.string_dtype(),
    "ascii": h5py.string_dtype("ascii"),
    "compound": POINT,
    "enum": h5py.enum_dtype({"A": 0, "B": 1, "C": 5}, "i1"),
    "sequence": h5py.vlen_dtype("<i2"),
    "reference": h5py.ref_dtype,
}
ANSWERED = (KeyError, ValueError, TypeError, RuntimeError, OSError, IndexError)


def value(rng, kind, f):
    if kind == "utf8":
        return rng.choice(["", "é", "数", "😀b", "q" * rng.randrange(20)])
    if kind == "ascii":
        return rng.choice(["", "a", "x" * rng.randrange(30)])
    if kind == "S4":
        return rng.choice([b"", b"ab", b"abcd"])
    if kind == "compound":
        return (rng.randrange(-9, 9), rng.random(), rng.choice([b"", b"q"]))
    if kind == "enum":
        return rng.choice([0, 1, 5])
    if kind == "sequence":
        return np.array([rng.randrange(99) for _ in range(rng.randrange(4))], "<i2")
    if kind == "reference":
        return f.ref
    if kind == "?":
        return rng.random() < 0.5
    if "c" in kind:
        return complex(rng.random(), rng.random())
    if "f" in kind:
        return rng.choice([rng.random(), np.nan, -0.0, np.inf])
    return rng.randrange(100)


def values(rng, kind, shape, f):
    array = np.empty(int(np.prod(shape)), object)
    for i in range(array.size):
        array[i] = value(rng, kind, f)
    array = array.reshape(shape)
    if kind in ("utf8", "ascii", "sequence", "reference"):
        return array.astype(TYPES[kind])
    return np.array(array.tolist(), TYPES[kind]).reshape(shape) if array.size else np.empty(shape, TYPES[kind])


def selection(rng, shape):
    """Mostly a valid one; at most one list, as HDF5 has it."""
    if not shape:
        return ()
    if rng.random() < 0.15:
        return Ellipsis
    axes, fancy = [], False
    for extent in shape[: rng.randrange(1, len(shape) + 1)]:
        choice = rng.random()
        if extent and choice < 0.25:
            axes.append(rng.randrange(-extent, extent))
        elif choice < 0.6:
            axes.append(slice(*sorted(rng.randrange(extent + 1) for _ in "ab")))
        elif choice < 0.75:
            axes.append(slice(rng.randrange(extent + 1), None, rng.randrange(1, 4)))
        elif extent and not fancy and choice < 0.85:
            fancy = True
            axes.append(sorted(rng.sample(range(extent), rng.randrange(extent + 1))))
        elif extent and not fancy and choice < 0.9:
            fancy = True
            axes.append(np.array([rng.random() < 0.5 for _ in range(extent)]))
        elif choice < 0.93:
            axes.append(extent + 3)
        else:
            axes.append(slice(None))
    return tuple(axes)


def plain(f, data):
    """Comparable with ==, to the last bit."""
    if isinstance(data, h5py.Reference):
        return f"reference to {f[data].name}" if data else "null reference"
    if isinstance(data, h5py.Empty):
        return f"empty {data.dtype!r}"
    data = np.asarray(data)
    if data.dtype == object:
        return data.shape, [one if isinstance(one, (bytes, str)) else plain(f, one) for one in data.ravel()]
    return data.shape, repr(data.dtype), data.tobytes()


class Subject:
    """One of the two files, and what the sequence made in it."""

    def __init__(self, path):
        self.path = path
        self.file = h5py.File(path, "w")
        self.kinds, self.groups = {}, {"/"}

    def reopen(self, mode):
        self.file.close()
        self.file = h5py.File(self.path, mode)


def create(rng, s):
    name = rng.choice(sorted(s.groups)).rstrip("/") + "/" + rng.choice("abcdefgh")
    kind = rng.choice(sorted(TYPES))
    shape = tuple(rng.randrange(9) for _ in range(rng.choice([0, 1, 1, 2, 2, 3])))
    how = {}
    if shape and rng.random() < 0.7:
        how["chunks"] = tuple(rng.randrange(1, max(2, n + 1)) for n in shape)
        how["maxshape"] = tuple(rng.choice([None, n + 4, max(n, c)]) for n, c in zip(shape, how["chunks"]))
        how["compression"] = rng.choice([None, "gzip", "lzf"])
        how["shuffle"] = rng.random() < 0.3
        how["fletcher32"] = rng.random() < 0.2
    if kind in ("?", "i1", "<i2", ">i4", "<u8", "<f4", ">f8", "<c8") and rng.random() < 0.3:
        how["fillvalue"] = values(rng, kind, (), s.file)[()]
    elif kind == "utf8" and rng.random() < 0.5:
        how["fillvalue"] = "fíll"
    if kind == "S4":
        how["fill_time"] = "alloc"  # else h5py lets HDF5 show whatever its memory held
    if rng.random() < 0.5:
        how["data"] = values(rng, kind, shape, s.file)
    s.file.create_dataset(name, shape, dtype=TYPES[kind], **how)
    s.kinds[name] = kind
    s.file.flush()


def group(rng, s):
    name = rng.choice(sorted(s.groups)).rstrip("/") + "/" + rng.choice("ghijk")
    s.file.create_group(name)
    s.groups.add(name)


def some(rng, s):
    return rng.choice(sorted(s.kinds) or ["/nothing"])


def delete(rng, s):
    name = some(rng, s)
    del s.file[name]
    del s.kinds[name]


def move(rng, s):
    old, new = some(rng, s), rng.choice(sorted(s.groups)).rstrip("/") + "/" + rng.choice("abmnop")
    s.file.move(old, new)
    s.kinds[new] = s.kinds.pop(old)


def copy(rng, s):
    old, new = some(rng, s), rng.choice(sorted(s.groups)).rstrip("/") + "/" + rng.choice("abmnop")
    if s.kinds.get(old) in ("sequence", "reference", "utf8", "ascii"):
        return  # HDF5 fails to copy chunks of these that nobody wrote
    s.file.copy(old, new)
    s.kinds[new] = s.kinds[old]


def link(rng, s):
    name = rng.choice(sorted(s.groups)).rstrip("/") + "/" + rng.choice("qrs")
    target = some(rng, s)
    s.file[name] = h5py.SoftLink(target) if rng.random() < 0.5 else h5py.ExternalLink("other.h5", target)


def attribute(rng, s):
    owner = rng.choice([some(rng, s), *sorted(s.groups)])
    name, kind, choice = rng.choice(["u", "v", "数"]), rng.choice(sorted(TYPES)), rng.random()
    data = values(rng, kind, rng.choice([(), (), (1,), (3,), (2, 2), (0,)]), s.file)
    attributes = s.file[owner].attrs
    if choice < 0.2:
        del attributes[name]
    elif choice < 0.4:
        attributes[name] = "text é"
    elif choice < 0.45:
        attributes[name] = h5py.Empty("f4")
    else:
        attributes.create(name, data, dtype=TYPES[kind])


def resize(rng, s):
    name, by = some(rng, s), [rng.randrange(-4, 5) for _ in range(4)]
    dataset = s.file[name]
    dataset.resize(tuple(max(0, n + more) for n, more in zip(dataset.shape, by)))


def write(rng, s):
    name = some(rng, s)
    dataset = s.file[name]
    where = selection(rng, dataset.shape)
    try:
        shape = np.zeros(dataset.shape, "i1")[where].shape
    except IndexError:
        shape = ()
    data = values(rng, s.kinds[name], shape if rng.random() < 0.8 else (), s.file)
    dataset[where] = data if data.shape else data[()]


def read(rng, s):
    name = some(rng, s)
    dataset = s.file[name]
    where = selection(rng, dataset.shape)
    choice = rng.random()
    if s.kinds[name] == "compound" and choice < 0.5:
        return plain(s.file, dataset.fields("a")[where])
    if s.kinds[name] in ("<i2", ">i4", "<f4", ">f8", "u1") and choice < 0.3:
        return plain(s.file, dataset.astype("f8")[where])
    return plain(s.file, dataset[where])


def flush(rng, s):
    s.file.flush()


OPERATION = [create] * 4 + [group] * 2 + [delete, move, copy, link, flush] + [attribute] * 4 + [resize] * 3 \
    + [write] * 6 + [read] * 5


def everything(f):
    seen = {}

    def look(name, thing):
        seen[name, "attributes"] = [(a, plain(f, thing.attrs[a]), repr(thing.attrs.get_id(a).dtype),
                                     thing.attrs.get_id(a).shape) for a in thing.attrs]
        if isinstance(thing, h5py.Dataset):
            seen[name, "header"] = (thing.shape, repr(thing.dtype), thing.chunks, thing.maxshape, repr(thing.fillvalue),
                                    thing.compression, thing.compression_opts, thing.shuffle, thing.fletcher32)
            seen[name, "data"] = plain(f, thing[()])
            return
        for member in thing:
            found = thing.get(member, getlink=True)
            seen[name, member] = type(found).__name__, getattr(found, "path", None)
            if isinstance(found, h5py.HardLink):
                look(name.rstrip("/") + "/" + member, thing[member])

    look("/", f)
    return list(seen.items())


def replay(seed, folder):
    subjects = [Subject(os.path.join(folder, f"{seed}.h5")), Subject(os.path.join(folder, f"{seed}.zarr"))]
    done = []
    try:
        for i in range(OPERATIONS):
            if random.Random(f"{seed} reopen {i}").random() < 0.08:
                for subject in subjects:
                    subject.reopen("r+")
                done.append("reopen")
            answers = []
            for subject in subjects:
                rng = random.Random(f"{seed} {i}")
                operation = rng.choice(OPERATION)
                try:
                    answers.append(operation(rng, subject))
                except ANSWERED as failure:
                    answers.append(type(failure).__name__)
            done.append(f"{operation.__name__} ({i}): {str(answers[0])[:60]}")
            assert answers[1] == answers[0], f"seed {seed}:\n" + "\n".join(done)
        for _ in "before and after closing":
            native, store = (everything(subject.file) for subject in subjects)
            assert store == native, f"seed {seed}:\n" + "\n".join(done)
            for subject in subjects:
                subject.reopen("r")
    finally:
        for subject in subjects:
            subject.file.close()


@pytest.mark.parametrize("half", [0, 1])
def test_store_answers_like_a_file(tmp_path, half):
    end = time.monotonic() + SECONDS / 2
    seed = FIRST_SEED + half * 100000
    while time.monotonic() < end:
        replay(seed, tmp_path)
        seed += 1
    print(f"seeds up to {seed - 1}")
