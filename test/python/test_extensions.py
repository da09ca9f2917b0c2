"""Codecs and data types of zarr-extensions beyond the core: documents and chunks as their writers make them."""
import json
from pathlib import Path

import h5py
import numpy as np
import pytest

from support import tensorstore_spec

LITTLE = {"name": "bytes", "configuration": {"endian": "little"}}


def make(store, data_type, codecs, chunk, fill=0, shape=(8,)):
    document = {"zarr_format": 3, "node_type": "array", "shape": list(shape), "data_type": data_type,
                "fill_value": fill,
                "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(shape)}},
                "chunk_key_encoding": {"name": "default"}, "codecs": codecs}
    array = Path(store) / "a"
    (array / "c").mkdir(parents=True)
    (Path(store) / "zarr.json").write_text(json.dumps({"zarr_format": 3, "node_type": "group"}))
    (array / "zarr.json").write_text(json.dumps(document))
    chunk_file = array / "/".join(["c"] + ["0"] * len(shape))
    chunk_file.parent.mkdir(parents=True, exist_ok=True)
    chunk_file.write_bytes(chunk)
    return chunk_file


def read(store):
    with h5py.File(store, "r") as f:
        return f["a"][...]


def bits(numbers, width):
    """`numbers`, the low `width` bits of each, the first in the lowest bits."""
    lowest_first = [number >> place & 1 for number in numbers for place in range(width)]
    return np.packbits(np.array(lowest_first, "u1"), bitorder="little").tobytes()


PACKED = {
    "bool": ("bool", {}, [1, 0, 0, 1, 1, 0, 1, 0, 1], 1),
    "int4": ("int4", {}, [-8, 7, 0, -1, 3, 4, -5, 6, 1], 4),
    "uint2": ("uint2", {}, [3, 2, 1, 0, 0, 1, 2, 3, 3], 2),
    "int16 of few bits": ("int16", {"last_bit": 4}, [-16, 15, 0, -1, 3, 4, -5, 6, 1], 5),
    "uint32 of few bits": ("uint32", {"last_bit": 10}, [2047, 1, 0, 1024, 3, 4, 5, 6, 1], 11),
    "int32": ("int32", {}, [-2**31, 2**31 - 1, 0, -1, 3, 4, -5, 6, 1], 32),
}


@pytest.mark.parametrize("padding", [None, "none", "first_byte", "last_byte"])
@pytest.mark.parametrize("name", PACKED)
def test_packed_bits_are_read_and_written(store, name, padding):
    data_type, configuration, values, width = PACKED[name]
    packed = bits(values, width)
    said = bytes([-len(values) * width % 8])
    chunk = {"first_byte": said + packed, "last_byte": packed + said}.get(padding, packed)
    more = {} if padding is None else {"padding_encoding": padding}
    codecs = [{"name": "packbits", "configuration": configuration | more}]
    file = make(store, data_type, codecs, chunk, False if data_type == "bool" else 0, (9,))
    assert read(store).tolist() == values
    with h5py.File(store, "r+") as f:
        f["a"][1] = values[0]
    values = [values[0], values[0], *values[2:]]
    assert file.read_bytes().strip(said) == bits(values, width).strip(said) and read(store).tolist() == values


def test_the_place_of_the_bits_may_be_said(store):
    codecs = [{"name": "packbits", "configuration": {"first_bit": 4, "last_bit": 6}}]
    make(store, "uint16", codecs, bits([1, 7, 0, 5, 2, 3, 4, 6], 3))
    assert read(store).tolist() == [16, 112, 0, 80, 32, 48, 64, 96]


def test_padding_that_contradicts_the_chunk_is_an_error(store):
    codecs = [{"name": "packbits", "configuration": {"padding_encoding": "first_byte"}}]
    make(store, "bool", codecs, b"\x03\xff\x01", False, (9,))
    with pytest.raises(OSError, match="3 bits of padding, expected 7"):
        read(store)


@pytest.mark.parametrize("driver", ["zarr", "zarr3"])
@pytest.mark.parametrize("dtype, values", [("int4", [-8, 7, 0, -1, 3, -5]), ("int2", [-2, 1, 0, -1, 1, -2])])
def test_integers_of_a_few_bits_are_those_of_tensorstore(store, driver, dtype, values):
    tensorstore = pytest.importorskip("tensorstore", reason="no tensorstore wheel for this Python")
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": store}, "dtype": dtype}
    array = tensorstore.open(spec, create=True, shape=[8], fill_value=-2).result()
    array[:6] = np.array(values).astype(array.dtype.numpy_dtype)
    with h5py.File(store, "r+") as f:
        (name,) = f
        assert f[name].dtype == "i1" and f[name][...].tolist() == [*values, -2, -2]
        assert f[name].fillvalue == -2 and f[name].id.get_type().get_precision() == int(dtype[-1])
        f[name][5] = 1
    again = tensorstore.open(tensorstore_spec(store), open=True).result().read().result()
    assert again.astype("i1").tolist() == [*values[:5], 1, -2, -2]


def test_bits_beyond_an_integer_of_a_few_are_ignored(store):
    make(store, "int4", [{"name": "bytes"}], bytes([0x08, 0xF8, 0x78, 0x07, 0xF7, 0x10, 0xFF, 0x0F]))
    assert read(store).tolist() == [-8, -8, -8, 7, 7, 0, -1, -1]


@pytest.mark.parametrize("fill", [8, -9])
def test_a_fill_value_that_few_bits_do_not_hold_is_an_error(store, fill):
    make(store, "int4", [{"name": "bytes"}], bytes(8), fill)
    with pytest.raises(KeyError, match="signed integer of 4 bits"):
        read(store)


def cast(**configuration):
    return {"name": "cast_value", "configuration": configuration}


def scale(**configuration):
    return {"name": "scale_offset", "configuration": configuration}


CASTS = {
    "float32 as uint8": ("float32", [cast(data_type="uint8"), LITTLE], np.arange(8, dtype="u1"),
                         np.arange(8, dtype="f4")),
    "big-endian": ("float64", [cast(data_type="int16"), {"name": "bytes", "configuration": {"endian": "big"}}],
                   np.arange(-4, 4, dtype=">i2"), np.arange(-4, 4, dtype="f8")),
    "NaN kept": ("float64", [scale(offset=-10, scale=0.5), cast(data_type="uint8", scalar_map={
                     "encode": [["NaN", 0]], "decode": [[0, "NaN"]]}), LITTLE],
                 np.array([0, 5, 6, 7, 8, 9, 10, 255], "u1"), np.array([np.nan, 0, 2, 4, 6, 8, 10, 500])),
    "integers shifted": ("uint16", [scale(offset=1000), cast(data_type="uint8"), LITTLE],
                         np.arange(8, dtype="u1"), np.arange(1000, 1008, dtype="u2")),
    "integers scaled": ("int32", [scale(offset=1, scale=3), LITTLE], np.arange(-12, 12, 3, dtype="<i4"),
                        np.arange(-3, 5, dtype="i4")),
    "a name with a configuration": ("float32", [cast(data_type={"name": "int64"}), LITTLE],
                                    np.array([0, 1, -1, 2**24, 2**53, 5, 6, 7], "<i8"),
                                    np.array([0, 1, -1, 2**24, 2**53, 5, 6, 7], "f4")),
    "half": ("float16", [scale(scale=0.1), LITTLE], (np.arange(8, dtype="f2") * np.float16(0.1)),
             (np.arange(8, dtype="f2") * np.float16(0.1)) / np.float16(0.1)),
    "nothing said": ("float32", [scale(), LITTLE], np.arange(8, dtype="<f4"), np.arange(8, dtype="f4")),
}


@pytest.mark.parametrize("name", CASTS)
def test_numbers_that_were_scaled_or_cast_are_read_and_written(store, name):
    data_type, codecs, stored, values = CASTS[name]
    file = make(store, data_type, codecs, stored.tobytes())
    np.testing.assert_array_equal(read(store), values)
    with h5py.File(store, "r+") as f:
        f["a"][3] = values[5]
    stored = stored.copy()
    stored[3] = stored[5]
    assert file.read_bytes() == stored.tobytes()


@pytest.mark.parametrize("rounding, rounded", [("nearest-even", [0, 2, 2, -2]), ("towards-zero", [0, 1, 2, -1]),
                                               ("towards-positive", [1, 2, 3, -1]), ("nearest-away", [1, 2, 3, -2]),
                                               ("towards-negative", [0, 1, 2, -2])])
def test_what_is_written_is_rounded_as_is_said(store, rounding, rounded):
    make(store, "float64", [cast(data_type="int8", rounding=rounding), {"name": "bytes"}], bytes(4), shape=(4,))
    with h5py.File(store, "r+") as f:
        f["a"][...] = [0.5, 1.5, 2.5, -1.5]
    assert read(store).tolist() == rounded


@pytest.mark.parametrize("beyond, kept", [("clamp", [127, -128, 127]), ("wrap", [-128, 127, 44])])
def test_what_is_out_of_range_is_clamped_or_wrapped_as_is_said(store, beyond, kept):
    make(store, "float64", [cast(data_type="int8", out_of_range=beyond), {"name": "bytes"}], bytes(3), shape=(3,))
    with h5py.File(store, "r+") as f:
        f["a"][...] = [128, -129, 300]
    assert read(store).tolist() == kept


@pytest.mark.parametrize("data_type, codecs, chunk", [
    ("int8", [cast(data_type="int16"), LITTLE], np.array([1, 300], "<i2")),
    ("uint8", [scale(offset=200), {"name": "bytes"}], np.array([1, 100], "u1")),
    ("int32", [scale(scale=2), LITTLE], np.array([2, 3], "<i4")),
    ("int8", [cast(data_type="float32"), LITTLE], np.array([1, np.nan], "<f4"))], ids=str)
def test_a_stored_number_that_the_type_cannot_hold_is_an_error(store, data_type, codecs, chunk):
    make(store, data_type, codecs, chunk.tobytes(), shape=(2,))
    with pytest.raises(OSError, match="a stored number that"):
        read(store)


@pytest.mark.parametrize("data_type, dtype", [("int32", "<i4"), ("complex64", "<c8"), ("bfloat16", "<u2")])
def test_numbers_that_were_rounded_before_they_were_stored_are_those(store, data_type, dtype):
    stored = np.arange(8).astype(dtype)
    make(store, data_type, [{"name": "bitround", "configuration": {"keepbits": 3}}, LITTLE], stored.tobytes())
    assert read(store).astype("f4" if data_type == "bfloat16" else dtype).tobytes() == (
        (stored.astype("<u4") << 16).view("<f4") if data_type == "bfloat16" else stored).tobytes()


@pytest.mark.parametrize("name", ["vlen-utf8", "zarrs.vlen_v2", "https://codec.zarrs.dev/array_to_bytes/vlen_utf8",
                                  "https://codec.zarrs.dev/array_to_bytes/vlen_v2"])
def test_texts_of_older_zarrs_are_read(store, name):
    texts = [b"a", b"", "é".encode(), b"dd"]
    chunk = b"".join(len(one).to_bytes(4, "little") + one for one in texts)
    make(store, "string", [{"name": name}], (4).to_bytes(4, "little") + chunk, "", (4,))
    assert read(store).tolist() == texts
