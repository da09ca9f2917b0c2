// Folders of the local store: listing, walking and removing them.
//
// Within store/ only.
#ifndef H5ZARR_STORE_LOCAL_TREE_H_
#define H5ZARR_STORE_LOCAL_TREE_H_

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

// Store::List of the folder at `path`.
Result<std::vector<ListEntry>> ListDirectory(const std::string& path);

// Store::Walk of the folder at `path`, whose key is `prefix`. Follows links to folders, but not
// into a folder that the link lies in.
Status WalkDirectory(const std::string& path, std::string_view prefix,
                     const std::function<Status(std::string_view key, uint64_t bytes)>& visit);

// Removes the folder at `path` and all that is in it; a link there, or within, is removed and never
// followed. Ok where there is nothing, or a file.
//
// A reader sees everything or nothing: the folder first gets a temporary name. Where that fails nothing has changed;
// where something cannot be deleted afterwards it is left under that name, which the error says. Only what cannot be
// renamed by its nature (a mount point) is emptied in place, as RemoveContents does.
Status RemoveDirectory(const std::string& path);

// Removes the folder at `path`, or what is in it where `path` is a link or cannot be removed itself
// (a mount point). In each folder names that begin with '.' go first and then all others in
// descending order, so that a process that is killed meanwhile leaves chunks without a metadata
// document rather than a document without its chunks, which would read as fill.
Status RemoveContents(const std::string& path);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LOCAL_TREE_H_
