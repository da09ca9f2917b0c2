// What tells that a file was not touched: its size and times, and which file it is. Within mirror/ only.
#ifndef H5ZARR_MIRROR_FILE_STAMP_H_
#define H5ZARR_MIRROR_FILE_STAMP_H_

#include <hdf5.h>

#include <optional>
#include <string>

namespace h5zarr::mirror {

// Of an open file of HDF5's default driver. Whoever writes to the file, replaces it or sets its times changes this:
// the time of the last change of an inode is nobody's to set. Nothing for a file that is too young, or whose file
// system is too coarse, for its times to tell a change that comes now; and for any other file.
std::optional<std::string> StampOf(hid_t file);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_FILE_STAMP_H_
