// target_file: files that others name: those of external links, and of a virtual dataset's sources.
#ifndef H5ZARR_H5_TARGET_FILE_H_
#define H5ZARR_H5_TARGET_FILE_H_

#include <hdf5.h>

#include <string>
#include <vector>

#include "base/status.h"
#include "host/handle.h"

namespace h5zarr {

// Where `target`, named by the file `parent`, may be, in HDF5's order: as named if absolute, below the
// prefixes that the environment variable lists, below `prefix` (empty: none), in the parent's folder, in
// the working folder. A remote parent's only beside it, or where `target` is itself a URL; kPermissionDenied where it
// names a file of this machine.
Result<std::vector<std::string>> TargetCandidates(const std::string& target, const std::string& parent,
                                                  const char* prefix_variable, const std::string& prefix);

// False only where there is certainly nothing at `path`: what cannot be looked at says why when opened.
bool MayExist(const std::string& path);

struct TargetFile {
  Handle id;                // invalid where no candidate exists
  bool closes_all = false;  // with the identifier everything opened through it closes
};
// Opens the first candidate that can be, weakly where possible (so that objects keep the file open; a
// file that is open otherwise dictates how). `fapl` is changed. The failure of the last one that exists
// where all fail.
Result<TargetFile> OpenTarget(const std::vector<std::string>& candidates, unsigned flags, hid_t fapl);

}  // namespace h5zarr

#endif  // H5ZARR_H5_TARGET_FILE_H_
