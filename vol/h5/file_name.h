// file_name: the names that programs give to files, and what lies there: stores, folders, files.
#ifndef H5ZARR_H5_FILE_NAME_H_
#define H5ZARR_H5_FILE_NAME_H_

#include <string>

#include "base/config.h"

namespace h5zarr {

// A file name as the program gave it, taken apart.
struct FileName {
  std::string given;
  std::string path;              // absolute, without trailing '/', its folder resolved through links; or a URL
  bool remote = false;           // a URL
  bool looks_like_zarr = false;  // by its ending
};

FileName ParseFileName(const char* given);

// A URL of a scheme that nothing here opens. (A folder may be called "gs:".)
bool IsForeignUrl(const std::string& given);

bool IsFolder(const std::string& path);
bool IsEmptyFolder(const std::string& path);
// A folder with a Zarr document of its own. At most four `stat`s.
bool HasRootDocument(const std::string& path);
// Also a folder whose groups are implicit, and versions of an Icechunk repository. Looks at more than
// HasRootDocument; `config` says how servers are asked.
bool IsStore(const std::string& path, const Config& config);
// The outermost folder around (or at) `path` that is a Zarr store by its own document.
std::string OutermostStore(const std::string& path);

}  // namespace h5zarr

#endif  // H5ZARR_H5_FILE_NAME_H_
