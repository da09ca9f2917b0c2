// The names under which unfinished writes, half-removed folders and objects without a place (shadow/'s
// unlinked ones) lie: never shown by a listing.
#ifndef H5ZARR_STORE_TEMP_NAME_H_
#define H5ZARR_STORE_TEMP_NAME_H_

#include <string>
#include <string_view>

namespace h5zarr {

// ".h5zarr-<process>-<number>.tmp": short, so that it fits wherever a key's last segment does, and
// never the same twice in this process. Another process of the same number (another host, or an
// earlier one that was killed) may have left one: create it exclusively and take the next.
std::string NextTempName();

// True for every name that NextTempName ever returned, here or elsewhere.
bool IsTempName(std::string_view name);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_TEMP_NAME_H_
