"""A file with one of each of what HDF5 has, for tests that compare it with its copies."""
from support import run_python

WRITE = """
import sys, h5py, numpy as np
with h5py.File(sys.argv[1], "w", track_order=True) as f:
    g = f.create_group("z/deep")
    g.attrs["level"] = np.array([1, 2], dtype=">i4")
    a = f.create_dataset("a", data=np.arange(6000.).reshape(60, 100), chunks=(7, 30), maxshape=(None, 100),
                         compression="gzip", shuffle=True, fletcher32=True)
    a.attrs["text"] = "zwölf"
    f.create_dataset("big", data=np.arange(400000), chunks=(1000,))
    f["plain"] = np.arange(10, dtype=">u2")
    f["text"] = np.array(["a", "", "😀"], dtype=object)
    f["scalar"] = 3.5
    f["empty"] = h5py.Empty("f4")
    f["flag"] = np.array([True, False])
    f["point"] = np.array([(1, 2.5), (3, 4.5)], dtype=[("n", "i4"), ("x", "f8")])
    f["type"] = np.dtype("f4")
    f.create_dataset("typed", shape=(3,), dtype=f["type"])[:] = 7
    f["soft"] = h5py.SoftLink("/z/deep")
    f["outside"] = h5py.ExternalLink("other.h5", "/x")
    f["again"] = a
    f["refs"] = np.array([a.ref, f["z"].ref, h5py.Reference()], dtype=h5py.ref_dtype)
    f.attrs["main"] = a.ref
    a.attrs["region"] = a.regionref[2:4, 5:9]
    f["x"] = np.arange(100)
    f["x"].make_scale("x")
    a.dims[1].attach_scale(f["x"])
    f["never"] = np.zeros((0, 5))
    f.create_dataset("sparse", shape=(10**5, 10**5), chunks=(100, 100), dtype="i2")[5, 5] = 1
    v = f.create_dataset("sequences", (3,), dtype=h5py.vlen_dtype("i4"))
    v[0] = [1, 2, 3]; v[2] = [4]
"""


def write(path, **env):
    """Writes it, without the plugin unless `env` says how; returns its path."""
    run_python(WRITE, path, **({"plugin": False, "connector": None} | env))
    return path
