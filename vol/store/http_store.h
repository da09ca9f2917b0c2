// A Store behind an HTTP server: read-only, and without listing.
#ifndef H5ZARR_STORE_HTTP_STORE_H_
#define H5ZARR_STORE_HTTP_STORE_H_

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/store.h"

namespace h5zarr {

struct HttpOptions {
  int concurrency = 32;         // requests at once to one server
  int retries = 8;              // of one request, before it fails
  int timeout_s = 30;           // without progress, until a request is tried again
  bool http2 = false;           // many requests by one connection, of https:// and where the server can
  bool missing_is_403 = false;  // servers that do not list answer so where nothing is
  std::string headers_file;     // extra headers for the store's server, one a line
  std::string ca_file;          // certificates of authorities; empty: as the environment says
  bool direct = false;          // by no proxy, whatever the environment says
  std::string cache_dir;        // where what was read is kept for other processes (DiskCache); empty: nowhere
  uint64_t cache_dir_bytes = 4ull << 30;
};

// The store whose objects lie below `url`; a query is kept behind every key. Sends nothing yet.
// kInvalidArgument when `url` is none, or the file of headers cannot be used; kUnsupported where libcurl
// cannot be loaded.
//
// An object is absent when the server says 404 or 410; everything else that is not the object's bytes is
// an error that names URL (never its query or password), status and range. Requests are repeated after
// failures that may pass; a body that broke off is resumed where it broke. Names and passwords come from
// .netrc, proxies from the usual variables, certificates from SSL_CERT_FILE or CURL_CA_BUNDLE.
Result<std::unique_ptr<Store>> MakeHttpStore(std::string_view url, const HttpOptions& options);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_STORE_H_
