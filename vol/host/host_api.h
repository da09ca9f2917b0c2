// host_api: binds the plugin to the HDF5 library that loaded it. The only file that knows dlsym.
//
// Python wheels carry private copies of libhdf5, several in one process, so the plugin links none:
// every HDF5 function it uses is a hidden forwarder of the same name (functions.def), pointed at the
// library that called us. All other code writes plain HDF5 calls. One image of the plugin serves one
// library; a second library in the process gets a second image (BindOrFindImage).
#ifndef H5ZARR_HOST_HOST_API_H_
#define H5ZARR_HOST_HOST_API_H_

#include <hdf5.h>

namespace h5zarr::host {

// The function of an image that answers H5PLget_plugin_info there, given the return address of that
// call: it calls BindOrFindImage with its own class and itself.
using ImageEntry = const void* (*)(void* return_address);

// What H5PLget_plugin_info must answer to the library behind `return_address`: `own_class` when this
// image serves it (binding it first, on the first call), the class of another image of this plugin
// when this one serves another library (loading that image first), nullptr (after saying why on
// stderr) when the library is older than the plugin needs or lacks a function we need. Not thread-safe:
// HDF5 loads plugins under its own lock.
const void* BindOrFindImage(void* return_address, const void* own_class, ImageEntry own_entry);

// Copies the values of the host's identifiers (H5T_…_g, H5P_…_g, H5E_…_g). They exist only once the
// host is initialised, and change when it is closed and opened again; call at the start of file
// create/open and whenever `initialize` has run.
void LoadVariables();

// Version of the host: {1, 14, 6}. Valid after binding.
struct Version {
  unsigned major = 0, minor = 0, release = 0;
};
Version HostVersion();

// True while the host runs its exit handlers: no thread pool, no new work. Hosts before 1.14 do not
// tell (HostTellsTermination): false there.
bool HostIsTerminating();
bool HostTellsTermination();

}  // namespace h5zarr::host

#endif  // H5ZARR_HOST_HOST_API_H_
