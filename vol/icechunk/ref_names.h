#ifndef H5ZARR_ICECHUNK_REF_NAMES_H_
#define H5ZARR_ICECHUNK_REF_NAMES_H_

// How the names of branches and tags are spelled in the keys of a repository of version 1. In buckets they are as they
// are. In folders of this machine icechunk writes through a library that percent-encodes all that is not ASCII and some
// signs: under any other name it does not see a ref. Not for other keys: what they are made of is never encoded.

#include <string>
#include <string_view>
#include <vector>

namespace h5zarr::icechunk {

// `name` as the name of a folder.
std::string EncodeRefName(std::string_view name);

// The name that `folder` stands for: EncodeRefName's way back where it is one, else the folder's own.
std::string DecodeRefName(std::string_view folder);

// What `name` may be called in a store, the spelling for new refs first.
std::vector<std::string> RefSpellings(std::string_view name, bool in_local_folder);

}  // namespace h5zarr::icechunk

#endif  // H5ZARR_ICECHUNK_REF_NAMES_H_
