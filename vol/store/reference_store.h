// A Store of references: its objects are texts in a reference file (kerchunk's or LINDI's JSON), or parts of
// other files, which lie where it says. Read-only.
#ifndef H5ZARR_STORE_REFERENCE_STORE_H_
#define H5ZARR_STORE_REFERENCE_STORE_H_

#include <memory>
#include <string>

#include "base/status.h"
#include "store/http_store.h"
#include "store/remote_file.h"
#include "store/s3_store.h"
#include "store/store.h"

namespace h5zarr {

// How targets are read.
struct ReferenceOptions {
  HttpOptions http;
  S3Options s3;
};

// The store that the reference file at `path` describes. Relative targets lie beside it; others are files, and
// http://, https:// and s3:// URLs. kNotFound, kCorrupt (no reference file), kUnsupported (a form that is not known).
//
// A key that has no reference is absent; a reference whose target is not there is an error, never fill.
Result<std::unique_ptr<Store>> OpenReferences(const std::string& path, const ReferenceOptions& options);

// The same for LINDI's archive at `path` (`x.lindi.tar`): the reference file is its member lindi.json, and
// relative targets are other members.
Result<std::unique_ptr<Store>> OpenTarReferences(const std::string& path, const ReferenceOptions& options);

// The same for such an archive at the URL `location`, which is open as `file`.
Result<std::unique_ptr<Store>> OpenRemoteTarReferences(std::shared_ptr<RemoteFile> file, const std::string& location,
                                                       const ReferenceOptions& options);

// The same for a reference file behind a web server, or in a bucket (s3://). Files of this machine are refused as
// targets (kPermissionDenied, when they are read).
Result<std::unique_ptr<Store>> OpenRemoteReferences(const std::string& location, const ReferenceOptions& options);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_REFERENCE_STORE_H_
