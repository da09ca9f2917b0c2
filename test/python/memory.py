"""Elements of any type as they lie in memory: what h5py has no NumPy type for is read and written here."""
import ctypes
import hashlib

import numpy as np
from h5py import h5r, h5s, h5t

from libhdf5 import HID, LIB, call

STD_REF_BYTES = 64  # of an H5R_ref_t
KINDS_OF_STD_REF = {0: "object (old)", 1: "region (old)", 2: "object", 3: "region", 4: "attribute"}


class List(ctypes.Structure):
    """hvl_t"""
    _fields_ = [("count", ctypes.c_size_t), ("elements", ctypes.c_void_p)]


def is_std_ref(made):
    return made.get_class() == h5t.REFERENCE and made.get_size() == STD_REF_BYTES


def holds_pointers(made):
    """Whether elements are more than their own bytes."""
    kind = made.get_class()
    if kind == h5t.STRING:
        return made.is_variable_str()
    if kind == h5t.COMPOUND:
        return any(holds_pointers(made.get_member_type(i)) for i in range(made.get_nmembers()))
    return kind in (h5t.VLEN, h5t.REFERENCE) or kind == h5t.ARRAY and holds_pointers(made.get_super())


def value_bytes(made):
    """Which bytes of an element are its value's: HDF5 gives no value to padding between members of compounds."""
    kind, size = made.get_class(), made.get_size()
    if kind == h5t.COMPOUND:
        mask = np.zeros(size, bool)
        for i in range(made.get_nmembers()):
            at, member = made.get_member_offset(i), value_bytes(made.get_member_type(i))
            mask[at:at + len(member)] |= member
        return mask
    if kind == h5t.ARRAY:
        base = value_bytes(made.get_super())
        return np.tile(base, size // max(len(base), 1))
    # (What a compiler's long double leaves of its 16 bytes.)
    return np.arange(size) < 10 if kind == h5t.FLOAT and size == 16 else np.ones(size, bool)


def describe_space(space):
    """What a space selects, as JSON has it."""
    kind = space.get_select_type()
    said = ["selects", kind, list(space.shape or ())]
    if kind == h5s.SEL_HYPERSLABS:
        regular = [list(part) for part in space.get_regular_hyperslab()] if space.is_regular_hyperslab() else []
        unlimited = any(h5s.UNLIMITED in part for part in regular)
        said.append(regular if unlimited else space.get_select_hyper_blocklist().tolist())
    elif kind == h5s.SEL_POINTS:
        said.append(space.get_select_elem_pointlist().tolist())
    return said


def text_of(function, *arguments):
    """A name that HDF5 puts into a buffer."""
    getter = getattr(LIB, function)
    getter.restype = ctypes.c_ssize_t
    buffer = ctypes.create_string_buffer(4096)
    return repr(buffer.value) if getter(*arguments, buffer, ctypes.c_size_t(4096)) >= 0 else "error"


def old_reference(at, made, f):
    size = made.get_size()
    if not any(ctypes.string_at(at, size)):
        return "null"
    kind = h5r.OBJECT if made.equal(h5t.STD_REF_OBJ) else h5r.DATASET_REGION
    name = text_of("H5Rget_name", HID(f.id.id), kind, ctypes.c_void_p(at))
    if kind == h5r.OBJECT:
        return ["object", name]
    LIB.H5Rget_region.restype = HID
    space = LIB.H5Rget_region(HID(f.id.id), kind, ctypes.c_void_p(at))
    return ["region", name, describe_space(h5s.SpaceID(space)) if space >= 0 else "of nothing"]


def std_reference(at):
    if not any(ctypes.string_at(at, STD_REF_BYTES)):
        return "null"
    pointer = ctypes.c_void_p(at)
    kind = KINDS_OF_STD_REF[LIB.H5Rget_type(pointer)]
    said = [kind, text_of("H5Rget_obj_name", pointer, HID(0))]
    if kind == "attribute":
        said.append(text_of("H5Rget_attr_name", pointer))
    if kind == "region":
        LIB.H5Ropen_region.restype = HID
        said.append(describe_space(h5s.SpaceID(LIB.H5Ropen_region(pointer, HID(0), HID(0)))))
    return said


def element(at, made, f):
    """The element of type `made` at an address; `f` is the file its references are of."""
    kind, size = made.get_class(), made.get_size()
    if kind == h5t.VLEN:
        held, base = List.from_address(at), made.get_super()
        return [element(held.elements + i * base.get_size(), base, f) for i in range(held.count)]
    if kind == h5t.STRING and made.is_variable_str():
        pointer = ctypes.c_void_p.from_address(at).value
        return repr(ctypes.string_at(pointer)) if pointer else None
    if kind == h5t.COMPOUND and holds_pointers(made):
        return [element(at + made.get_member_offset(i), made.get_member_type(i), f) for i in range(made.get_nmembers())]
    if kind == h5t.ARRAY and holds_pointers(made):
        base = made.get_super()
        return [element(at + i, base, f) for i in range(0, size, base.get_size())]
    if kind == h5t.REFERENCE:
        return std_reference(at) if is_std_ref(made) else old_reference(at, made, f)
    return ctypes.string_at(at, size).hex()


def read(function, identifier, points, made, f):
    """All elements that H5Dread or H5Aread gives, in the type they are stored in."""
    size = made.get_size()
    buffer = ctypes.create_string_buffer(max(points, 1) * size)
    if points:
        where = (HID(0), HID(0), HID(0)) if function == "H5Dread" else ()
        call(function, HID(identifier), HID(made.id), *where, buffer)
    if not holds_pointers(made):
        data = buffer.raw[: points * size]
        return data.hex() if len(data) < 4096 else f"{len(data)} bytes, {hashlib.sha256(data).hexdigest()}"
    start = ctypes.addressof(buffer)
    return [element(start + i * size, made, f) for i in range(points)]


def write(function, identifier, made, data):
    """Writes elements given as bytes of memory with H5Dwrite or H5Awrite."""
    where = (HID(0), HID(0), HID(0)) if function == "H5Dwrite" else ()
    call(function, HID(identifier), HID(made.id), *where, data)


def lists(contents):
    """The memory of variable-length elements that hold these bytes: pairs of a count and the bytes."""
    kept = [ctypes.create_string_buffer(data, max(len(data), 1)) for _, data in contents]
    made = (List * len(contents))(*[List(count, ctypes.addressof(one) if count else None)
                                    for (count, _), one in zip(contents, kept)])
    made.kept = kept
    return made
