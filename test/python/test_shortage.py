"""Where the system has no more descriptors nothing is taken for absent."""
import pytest

from support import run_python

SHORT = """
import h5py, numpy as np, os, resource, sys
store = sys.argv[1]

class Short:
    '''Within it no file can be opened.'''
    def __enter__(self):
        self.held = []
        resource.setrlimit(resource.RLIMIT_NOFILE, (60, 4096))
        try:
            while True:
                self.held.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            assert error.errno == 24
    def __exit__(self, *_):
        for fd in self.held:
            os.close(fd)

def fails(what):
    with Short():
        try:
            answer = what()
        except (OSError, KeyError, RuntimeError, ValueError) as error:
            assert "Too many open files" in str(error) or getattr(error, "errno", 0) == 24, repr(error)
            return
    raise AssertionError(f"answered {answer!r}")
"""


@pytest.fixture(params=["zarr", "zarr zarr_format=2"], ids=["v3", "v2"])
def stored(request, store):
    run_python("""
import h5py, numpy as np, sys
with h5py.File(sys.argv[1], "w") as f:
    g = f.create_group("g")
    x = g.create_dataset("x", data=np.arange(4.0))
    x.make_scale("x")
    a = g.create_dataset("a", data=np.arange(4), chunks=(2,))
    a.dims[0].attach_scale(x)
    f["named"] = np.dtype("i4")
    a.attrs.create("t", 5, dtype=f["named"])
    a.attrs["ref"] = g.ref
    f.create_dataset("b", data=np.arange(100), chunks=(10,))
""", store, connector=request.param)
    return store


def test_objects_are_found_afterwards(stored):
    run_python(SHORT + """
f = h5py.File(store, "r")
fails(lambda: "g" in f)
fails(lambda: f["g"])
fails(lambda: list(f))
fails(lambda: f["g/a"])
assert set(f) == {"g", "named", "b"} and set(f["g"]) == {"x", "a"}
a = f["g/a"]
assert (a[...] == np.arange(4)).all() and a.dims[0][0] == f["g/x"] and f[a.attrs["ref"]] == f["g"]
""", stored)


def test_elements_are_never_fill(stored):
    run_python(SHORT + """
f = h5py.File(store, "r")
b = f["b"]
fails(lambda: b[...])
fails(lambda: b[55])
assert (b[...] == np.arange(100)).all()
""", stored)


def test_what_attributes_refer_to_is_not_taken_for_gone(stored):
    run_python(SHORT + """
f = h5py.File(store, "r+")
g = f["g"]
fails(lambda: g["a"])
a = g["a"]
assert [len(d) for d in a.dims] == [1]
a.attrs["k"] = 1
f.close()
f = h5py.File(store, "r")
assert f["g/a"].dims[0][0] == f["g/x"] and f[f["g/a"].attrs["ref"]] == f["g"]
""", stored)
