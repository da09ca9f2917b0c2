// location: from the name of a place to the Store that reads and writes it. The one place that
// knows every kind of store: a new kind is a case here, and nothing above changes.
//
// A location is the canonical name of a place, which is also its identity (equal locations are one
// store). It is made by h5/file_name from what a program wrote:
//   /a/x.zarr             a folder: absolute, resolved through links
//   /a/x.icechunk         an Icechunk repository (known by what is in it, not by its name), at the tip
//                         of branch "main"
//   /a/x.icechunk@v1      …at tag "v1", or else at branch "v1"; also @tag:v1, @branch:v1, @snapshot:ID
//   /a/x.icechunk@v1/g    …group "g" of it
//   /a/x.json             a reference file of kerchunk or LINDI (known by its content); also LINDI's x.lindi.tar
//                         and x.lindi.d
//   /a/x.zarr.zip         a ZIP archive of a store (known by its content)
//   https://host/x.zarr   objects behind a web server
//   s3://bucket/x.icechunk@v1   a version of a repository there, or behind a web server: names with '@', and below
//                         names that end in ".icechunk", are looked at so
//   https://host/x.json   a reference file there, or in a bucket (by its name); others, archives and HDF5 files by
//                         their content
//   s3://bucket/x.zarr    objects in a bucket of Amazon S3, or of what speaks its protocol
// A name is taken literally first: "@v1" is a version only where nothing is called so.
#ifndef H5ZARR_LOCATION_LOCATION_H_
#define H5ZARR_LOCATION_LOCATION_H_

#include <memory>
#include <optional>
#include <string>

#include "base/config.h"
#include "base/status.h"
#include "store/remote_file.h"
#include "store/store.h"

namespace h5zarr {

// A version of a repository, or a node in one.
struct IcechunkLocation {
  std::string repository;  // its folder
  std::string version;     // what follows '@'; empty for the tip of branch "main"
  std::string node_path;   // "" for the root
};

// What `location` says when it leads into an Icechunk repository; nothing when it does not. Whether
// there is such a version is not asked. Costs one `stat` where the location exists as it is.
std::optional<IcechunkLocation> FindIcechunk(const std::string& location);

// Whether the store at `location` is a folder of this machine, and nothing but that: no repository, archive or
// list of references. Costs a few `stat`.
bool IsPlainFolder(const std::string& location);

// The same of a remote place, of which it costs requests to know: only names that have an '@', or that
// end in ".icechunk" (they, or a part), are looked at. Errors of the server, but for those that deny access.
Result<std::optional<IcechunkLocation>> FindRemoteIcechunk(const std::string& location, const Config& config);

// What the file at `location` may be as a store: by its beginning, of which a block is read, and more only where
// it is that of a JSON object.
enum class StoreFileKind {
  kNone,
  kReferences,  // kerchunk's or LINDI's JSON
  kTar,         // LINDI's archive of such a file and its chunks
  kZip,         // which may hold anything
  kHdf5,        // no store, and said of remote files only
};
StoreFileKind FindStoreFile(const std::string& location);

// The same of the object behind the URL `location`: kNone, and no file, where there is none, or its name says that
// a store of many objects is there (".zarr"), or references are (".json"). Reads the object's beginning, and nothing
// more for as long as somebody holds the file.
struct RemoteObject {
  std::shared_ptr<RemoteFile> file;
  StoreFileKind kind = StoreFileKind::kNone;
  Status denied;  // where the server would not say what is there: a store's objects may be
};
Result<RemoteObject> FindRemoteFile(const std::string& location, const Config& config);

// kUnsupported, with the command that converts them, where the folder at `path`, which is no store by itself, holds
// references in kerchunk's other form.
Status RefuseParquetReferences(const std::string& path);

// The objects below `location` as they are, whatever they are: a folder, a bucket's or, to be read, a web server's.
Result<std::unique_ptr<Store>> OpenPlace(const std::string& location, bool writable, const Config& config);

// The store at `location`, owned by the caller. Whether anything is there is not asked (a local
// folder need not exist), except of versions: kNotFound. Of a remote place that is only
// read consolidated metadata are used, where it has them. kPermissionDenied when `writable`, and the place can only
// be read.
Result<std::unique_ptr<Store>> OpenLocation(const std::string& location, bool writable, const Config& config);

}  // namespace h5zarr

#endif  // H5ZARR_LOCATION_LOCATION_H_
