// Small reads of files through HDF5, with its own words when they fail. For mirror/ and the command.
#ifndef H5ZARR_MIRROR_HDF5_READ_H_
#define H5ZARR_MIRROR_HDF5_READ_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/attribute_map.h"
#include "zarr/json.h"

namespace h5zarr::mirror {

// kIo: HDF5 failed at `what`; the innermost message of its error stack, which is emptied.
Status Hdf5Error(std::string_view what);

// The names in a group, in this order.
Result<std::vector<std::string>> MemberNames(hid_t group, H5_index_t order = H5_INDEX_NAME);

// Attributes of `object`, or of what `path` leads to from there. An object at a path is not opened: that takes
// long of a virtual dataset with many mappings.
Result<std::vector<std::string>> AttributeNames(hid_t object, const std::string& path = ".");

// The whole value of an attribute, in its own type. kNotFound when there is none.
Result<shadow::AttributeValue> ReadAttribute(hid_t object, const std::string& name, const std::string& path = ".");

// An attribute of one text. kNotFound when there is none.
Result<std::string> TextAttribute(hid_t object, const std::string& name, const std::string& path = ".");
// An attribute of integers, of any size.
Result<std::vector<uint64_t>> NumbersAttribute(hid_t object, const std::string& name, const std::string& path = ".");
// An attribute of one boolean of h5py's; `absent` when there is none.
Result<bool> FlagAttribute(hid_t object, const std::string& name, bool absent);

// Puts every attribute but those named in `without` into the `attributes` of a Zarr document.
Status AddAttributes(hid_t object, const std::string& path, const std::vector<std::string>& without,
                     zarr::Json* attributes);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_HDF5_READ_H_
