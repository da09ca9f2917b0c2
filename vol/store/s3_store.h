// A Store in a bucket of Amazon S3, or of what speaks its protocol (MinIO, Ceph, R2, …).
#ifndef H5ZARR_STORE_S3_STORE_H_
#define H5ZARR_STORE_S3_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/http_store.h"
#include "store/store.h"

namespace h5zarr {

struct S3Options {
  // Where the bucket's name is: in the path, or in the host's name. kAuto: in the host's, at Amazon and where
  // a host can have that name.
  enum class Style { kAuto, kPath, kVirtual };

  HttpOptions http;
  bool read_only = false;
  // These go before what the environment and Amazon's files say; empty: as they do.
  std::string endpoint;
  std::string region;
  Style style = Style::kAuto;
};

// The store whose objects are those under `location`, "s3://bucket/prefix". Sends nothing yet.
// kInvalidArgument when `location` is none, or the settings cannot be used; kUnsupported where libcurl or
// libcrypto cannot be loaded.
//
// Keys come from the environment, from Amazon's files, a program that these name, or a container's server;
// without any, requests are not signed. Each object is replaced as a whole; moves and removals of many
// objects are not atomic, nor are there locks between processes. Absent is what the server says 404 of.
Result<std::unique_ptr<Store>> MakeS3Store(std::string_view location, const S3Options& options);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_S3_STORE_H_
