"""The libhdf5 that h5py uses, for what h5py has no words for."""
import ctypes


def library():
    for line in open("/proc/self/maps"):
        path = line.split()[-1]
        if "libhdf5" in path and "_hl" not in path and ".so" in path:
            return ctypes.CDLL(path)
    raise RuntimeError("h5py has loaded no libhdf5")


LIB = library()
HID = ctypes.c_int64


def call(name, *arguments):
    function = getattr(LIB, name)
    function.restype = ctypes.c_int
    assert function(*arguments) >= 0, name
