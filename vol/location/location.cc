#include "location/location.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "base/trace.h"
#include "icechunk/icechunk_store.h"
#include "icechunk/repository.h"
#include "store/http_store.h"
#include "store/local_store.h"
#include "store/reference_index.h"
#include "store/reference_store.h"
#include "store/s3_store.h"
#include "store/tar_index.h"
#include "store/traced_store.h"
#include "store/url.h"
#include "store/zip_store.h"
#include "zarr/consolidated_store.h"
#include "zarr/json.h"

namespace h5zarr {
namespace {

// How much of a file of JSON is read to see of which kind it is.
constexpr std::size_t kJsonLookBytes = 64 << 10;
constexpr std::string_view kLindiFolder = ".lindi.d";

// For stores that do the input and output themselves: what others ask of them is seen.
std::unique_ptr<Store> Traced(std::unique_ptr<Store> store) {
  return Tracing(TraceLevel::kRequests) ? MakeTracedStore(std::move(store)) : std::move(store);
}

std::unique_ptr<Store> OpenFolder(const std::string& path, bool writable, const Config& config) {
  LocalStoreOptions options;
  options.read_only = !writable;
  options.durable = config.durable;
  if (config.io == Config::Io::kUring) options.io = LocalStoreOptions::Io::kUring;
  if (config.io == Config::Io::kDirect) options.io = LocalStoreOptions::Io::kDirect;
  return Traced(MakeLocalStore(path, options));
}

HttpOptions HttpOptionsOf(const Config& config) {
  HttpOptions options;
  options.concurrency = config.concurrency;
  options.retries = config.retries;
  options.timeout_s = config.timeout_s;
  options.missing_is_403 = config.missing_is_403;
  options.headers_file = config.headers_file;
  options.ca_file = config.ca_file;
  return options;
}

Result<std::unique_ptr<Store>> OpenS3(const std::string& location, bool writable, const Config& config) {
  S3Options options;
  options.http = HttpOptionsOf(config);
  options.http.headers_file.clear();  // they are for other servers
  options.read_only = !writable;
  options.endpoint = config.s3_endpoint;
  options.region = config.s3_region;
  if (config.s3_style == Config::S3Style::kPath) options.style = S3Options::Style::kPath;
  if (config.s3_style == Config::S3Style::kVirtual) options.style = S3Options::Style::kVirtual;
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, MakeS3Store(location, options));
  store = Traced(std::move(store));
  if (writable) return store;
  return zarr::ListByConsolidated(std::move(store));
}

Result<std::unique_ptr<Store>> OpenHttp(const std::string& url, bool writable,
                                        const Config& config) {
  if (writable) {
    return PermissionDeniedError("'" + ShownName(url) + "': over HTTP stores can only be read");
  }
  const HttpOptions options = HttpOptionsOf(config);
  const bool is_references = std::string_view(url).substr(0, url.find('?')).ends_with(".json");
  if (is_references) return OpenRemoteReferences(url, options);
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, MakeHttpStore(url, options));
  return zarr::ListByConsolidated(Traced(std::move(store)));
}

}  // namespace

std::optional<IcechunkLocation> FindIcechunk(const std::string& location) {
  // The longest part of the name that is there: it is the repository, or there is none.
  std::string there = location;
  struct stat info;
  while (stat(there.c_str(), &info) != 0) {
    if (errno != ENOENT && errno != ENOTDIR) return std::nullopt;
    const std::size_t end = there.find_last_of("/@");
    if (end == std::string::npos || end == 0) return std::nullopt;
    there.resize(end);
  }
  if (!S_ISDIR(info.st_mode)) return std::nullopt;
  const std::unique_ptr<Store> folder = MakeLocalStore(there, {.read_only = true});
  const Result<bool> found = icechunk::IsRepository(*folder);
  if (!found.ok() || !*found) return std::nullopt;
  IcechunkLocation parts;
  std::string_view rest = std::string_view(location).substr(there.size());
  parts.repository = std::move(there);
  if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    parts.version = rest.substr(0, rest.find('/'));
    rest.remove_prefix(parts.version.size());
  }
  if (rest.starts_with('/')) rest.remove_prefix(1);
  parts.node_path = rest;
  return parts;
}

StoreFileKind FindStoreFile(const std::string& location) {
  struct stat info;
  if (stat(location.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return StoreFileKind::kNone;
  std::ifstream file(location, std::ios::binary);
  const auto read = [&file](std::size_t bytes) {
    std::string beginning(bytes, '\0');
    file.clear();
    file.seekg(0);
    file.read(beginning.data(), static_cast<std::streamsize>(bytes));
    beginning.resize(static_cast<std::size_t>(std::max<std::streamsize>(file.gcount(), 0)));
    return beginning;
  };
  const std::string block = read(kTarBlockBytes);
  if (block.starts_with("PK\3\4") || block.starts_with("PK\5\6")) return StoreFileKind::kZip;
  if (LooksLikeTar(block)) return StoreFileKind::kTar;
  const std::size_t first = block.find_first_not_of(" \t\r\n");
  if (first == std::string::npos || block[first] != '{') return StoreFileKind::kNone;
  return LooksLikeReferences(read(kJsonLookBytes)) ? StoreFileKind::kReferences
                                                   : StoreFileKind::kNone;
}

bool IsParquetReferences(const std::string& path) {
  std::ifstream file(path + "/.zmetadata", std::ios::binary);
  if (!file) return false;
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return zarr::FindMemberText(text, "record_size").has_value();
}

Result<std::unique_ptr<Store>> OpenLocation(const std::string& location, bool writable,
                                            const Config& config) {
  RaiseTraceLevel(static_cast<TraceLevel>(config.trace));
  if (IsHttpUrl(location)) return OpenHttp(location, writable, config);
  if (IsS3Url(location)) return OpenS3(location, writable, config);
  const StoreFileKind kind = FindStoreFile(location);
  if (kind != StoreFileKind::kNone) {
    if (writable) {
      const std::string what = kind == StoreFileKind::kZip ? "a ZIP archive" : "references";
      return PermissionDeniedError("'" + location + "': " + what + " can only be read");
    }
    if (kind == StoreFileKind::kZip) return OpenZipStore(location);
    if (kind == StoreFileKind::kTar) return OpenTarReferences(location, HttpOptionsOf(config));
    return OpenReferences(location, HttpOptionsOf(config));
  }
  if (location.ends_with(kLindiFolder)) {
    const std::string document = location + "/lindi.json";
    if (FindStoreFile(document) == StoreFileKind::kReferences) {
      return OpenLocation(document, writable, config);
    }
  }
  if (const auto version = FindIcechunk(location)) {
    if (writable) {
      return PermissionDeniedError("'" + location +
                                   "': a version of an Icechunk repository can only be read");
    }
    return icechunk::OpenSnapshot(OpenFolder(version->repository, false, config), version->version,
                                  version->node_path);
  }
  return OpenFolder(location, writable, config);
}

}  // namespace h5zarr
