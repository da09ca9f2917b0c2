"""What a program sees of a file: every property that h5py shows, by object, as JSON values."""
import ctypes
import json

import h5py
from h5py import h5a, h5d, h5l, h5o, h5p, h5s, h5t

import memory
from libhdf5 import HID, LIB, call


def type_of(made):
    """A type in words that differ where types do."""
    said = {"class": made.get_class(), "size": made.get_size()}
    kind = made.get_class()
    if kind in (h5t.INTEGER, h5t.FLOAT, h5t.BITFIELD):
        pad = [ctypes.c_int(), ctypes.c_int()]
        call("H5Tget_pad", HID(made.id), *map(ctypes.byref, pad))
        said.update(order=LIB.H5Tget_order(HID(made.id)), precision=LIB.H5Tget_precision(HID(made.id)),
                    offset=LIB.H5Tget_offset(HID(made.id)), pad=[one.value for one in pad])
    if kind == h5t.INTEGER:
        said.update(sign=made.get_sign())
    elif kind == h5t.FLOAT:
        said.update(fields=made.get_fields(), bias=made.get_ebias(), norm=made.get_norm(), inpad=made.get_inpad())
    elif kind == h5t.TIME:
        said.update(order=LIB.H5Tget_order(HID(made.id)))
    elif kind == h5t.STRING:
        said.update(pad=made.get_strpad(), cset=made.get_cset(), variable=made.is_variable_str())
    elif kind == h5t.OPAQUE:
        said.update(tag=repr(made.get_tag()))
    elif kind == h5t.COMPOUND:
        said["members"] = [(repr(made.get_member_name(i)), made.get_member_offset(i), type_of(made.get_member_type(i)))
                           for i in range(made.get_nmembers())]
    elif kind == h5t.ENUM:
        said["members"] = [(repr(made.get_member_name(i)), made.get_member_value(i)) for i in range(made.get_nmembers())]
    elif kind == h5t.ARRAY:
        said["dims"] = made.get_array_dims()
    elif kind == h5t.REFERENCE:
        said["reference"] = [made.equal(h5t.STD_REF_OBJ), made.equal(h5t.STD_REF_DSETREG), memory.is_std_ref(made)]
    if kind in (h5t.ENUM, h5t.ARRAY, h5t.VLEN, getattr(h5t, "COMPLEX", -9)):
        said["base"] = type_of(made.get_super())
    if made.committed():
        said["committed"] = repr(h5py.h5i.get_name(made))
    return said


def space_of(space):
    kind = space.get_simple_extent_type()
    if kind != h5s.SIMPLE:
        return kind
    return [list(space.get_simple_extent_dims()), [-1 if n == h5s.UNLIMITED else n
                                                   for n in space.get_simple_extent_dims(True)]]


def value_of(function, identifier, made, space, f):
    kind = space.get_simple_extent_type()
    return "null" if kind == h5s.NULL else memory.read(function, identifier, space.get_simple_extent_npoints(), made, f)


def attributes_of(obj, f, ordered):
    said = {}
    for i in range(h5a.get_num_attrs(obj.id)):
        attribute = h5a.open(obj.id, index=i)
        made, space, name = attribute.get_type(), attribute.get_space(), attribute.name
        info = h5a.get_info(obj.id, name)
        value = value_of("H5Aread", attribute.id, made, space, f)
        if name == b"REFERENCE_LIST":  # its order is not the program's
            value.sort(key=str)
        said[repr(name)] = {
            "type": type_of(made), "space": space_of(space), "cset": info.cset,
            "order": info.corder if ordered else None, "order valid": bool(info.corder_valid),
            "value": value}
    return said


def object_lists(plist, kind):
    said = {"attr order": plist.get_attr_creation_order(), "attr phase": plist.get_attr_phase_change(),
            "track times": plist.get_obj_track_times()}
    if kind == "group":
        said["link order"] = plist.get_link_creation_order()
        pair = [ctypes.c_uint(), ctypes.c_uint()]
        call("H5Pget_link_phase_change", HID(plist.id), *map(ctypes.byref, pair))
        said["link phase"] = [one.value for one in pair]
        call("H5Pget_est_link_info", HID(plist.id), *map(ctypes.byref, pair))
        said["link estimate"] = [one.value for one in pair]
    return said


def fill_of(plist, made, f):
    defined = plist.fill_value_defined()
    said = {"defined": defined, "time": plist.get_fill_time()}
    if defined == h5d.FILL_VALUE_USER_DEFINED:
        buffer = ctypes.create_string_buffer(made.get_size())
        call("H5Pget_fill_value", HID(plist.id), HID(made.id), buffer)
        said["value"] = memory.element(ctypes.addressof(buffer), made, f)
    return said


def mappings_of(plist):
    """HDF5 files do not have the extent of the sources: HDF5 asks these when it opens them."""
    return [[repr(plist.get_virtual_filename(i)), repr(plist.get_virtual_dsetname(i)),
             memory.describe_space(plist.get_virtual_vspace(i)),
             [part for j, part in enumerate(memory.describe_space(plist.get_virtual_srcspace(i))) if j != 2]]
            for i in range(plist.get_virtual_count())]


def dataset_of(dataset, f):
    low, plist = dataset.id, dataset.id.get_create_plist()
    made, space = low.get_type(), low.get_space()
    said = {"type": type_of(made), "space": space_of(space), "layout": plist.get_layout(),
            "alloc": plist.get_alloc_time(), "fill": fill_of(plist, made, f),
            "filters": [plist.get_filter(i) for i in range(plist.get_nfilters())],
            "chunk": plist.get_chunk() if plist.get_layout() == h5d.CHUNKED else None,
            "external": [plist.get_external(i) for i in range(plist.get_external_count())],
            "mappings": mappings_of(plist) if plist.get_layout() == h5d.VIRTUAL else None,
            **object_lists(plist, "dataset")}
    undefined = said["fill"]["defined"] == h5d.FILL_VALUE_UNDEFINED or said["fill"]["time"] == h5d.FILL_TIME_NEVER
    if not undefined:
        said["value"] = value_of("H5Dread", low.id, made, space, f)
    return said


def links_of(group, ordered):
    said = {}
    names = []
    group.id.links.iterate(names.append)
    for name in names:
        info = group.id.links.get_info(name)
        link = {"type": info.type, "cset": info.cset, "order valid": bool(info.corder_valid),
                "order": info.corder if ordered else None}
        if info.type != h5l.TYPE_HARD:
            link["value"] = repr(group.id.links.get_val(name))
        said[repr(name)] = link
    return said


def names_by_creation(group):
    names = []
    group.id.links.iterate(names.append, idx_type=h5py.h5.INDEX_CRT_ORDER)
    return list(map(repr, names))


def describe_object(obj, f):
    """Everything about one object but its name."""
    if isinstance(obj, h5py.Dataset):
        said = {"kind": "dataset", **dataset_of(obj, f)}
        plist = obj.id.get_create_plist()
    elif isinstance(obj, h5py.Datatype):
        plist = obj.id.get_create_plist() if hasattr(obj.id, "get_create_plist") else None
        said = {"kind": "datatype", "type": type_of(obj.id)}
        if plist is not None and hasattr(plist, "get_attr_creation_order"):
            said.update(object_lists(plist, "datatype"))
    else:
        plist = obj.id.get_create_plist()
        said = {"kind": "group", **object_lists(plist, "group")}
        ordered = bool(plist.get_link_creation_order() & h5p.CRT_ORDER_TRACKED)
        said["links"] = links_of(obj, ordered)
        if ordered:
            said["links by creation"] = names_by_creation(obj)
    attr_order = said.get("attr order", 0)
    said["attributes"] = attributes_of(obj, f, bool(attr_order & h5p.CRT_ORDER_TRACKED))
    info = h5o.get_info(obj.id)
    said["links to it"], said["attribute count"] = info.rc, info.num_attrs
    comment = ctypes.create_string_buffer(100)
    LIB.H5Oget_comment.restype = ctypes.c_ssize_t
    LIB.H5Oget_comment(HID(obj.id.id), comment, ctypes.c_size_t(100))
    said["comment"] = repr(comment.value)
    return said


def file_of(f):
    """What a file was created with."""
    plist = f.id.get_create_plist()
    pair, threshold = [ctypes.c_uint(), ctypes.c_uint()], ctypes.c_uint()
    call("H5Pget_sym_k", HID(plist.id), *map(ctypes.byref, pair))
    call("H5Pget_istore_k", HID(plist.id), ctypes.byref(threshold))
    return {"user block": plist.get_userblock(), "sizes": plist.get_sizes(), "symbols": [one.value for one in pair],
            "chunk btree": threshold.value, "space": plist.get_file_space_strategy(),
            "page": plist.get_file_space_page_size()}


def describe(path):
    said = {}
    with h5py.File(path, "r") as f:
        said["/"] = describe_object(f["/"], f) | {"file": file_of(f)}
        f.visititems(lambda name, obj: said.update({"/" + name: describe_object(obj, f)}))
    return json.loads(json.dumps(said, default=str))
