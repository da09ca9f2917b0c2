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
#include "location/given_place.h"
#include "store/http_store.h"
#include "store/local_store.h"
#include "store/packed_text.h"
#include "store/reference_index.h"
#include "store/reference_store.h"
#include "store/s3_store.h"
#include "store/tar_index.h"
#include "store/traced_store.h"
#include "store/url.h"
#include "store/zip_store.h"
#include "zarr/consolidated_store.h"

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
  options.http2 = config.http2;
  options.missing_is_403 = config.missing_is_403;
  options.headers_file = config.headers_file;
  options.ca_file = config.ca_file;
  options.cache_dir = config.cache_dir;
  options.cache_dir_bytes = config.cache_dir_bytes;
  return options;
}

S3Options S3OptionsOf(const Config& config, bool writable) {
  S3Options options;
  options.http = HttpOptionsOf(config);
  options.http.headers_file.clear();             // they are for other servers
  if (writable) options.http.cache_dir.clear();  // what is written is read where it is
  options.read_only = !writable;
  options.endpoint = config.s3_endpoint;
  options.region = config.s3_region;
  if (config.s3_style == Config::S3Style::kPath) options.style = S3Options::Style::kPath;
  if (config.s3_style == Config::S3Style::kVirtual) options.style = S3Options::Style::kVirtual;
  return options;
}

// A URL without its query. (In a bucket '?' is a letter of a name like others.)
std::string_view PathOf(std::string_view url) { return IsHttpUrl(url) ? url.substr(0, url.find('?')) : url; }

// Whether the name is that of a Zarr store, or of something in one.
bool NamesZarr(std::string_view url) {
  const std::string_view path = PathOf(url);
  return path.ends_with(".zarr") || path.find(".zarr/") != std::string_view::npos;
}

bool NamesReferences(std::string_view url) { return PathOf(url).ends_with(".json"); }

Status RefuseVersion(const std::string& location) {
  return PermissionDeniedError("'" + ShownName(location) + "': a version of an Icechunk repository can only be read");
}

ReferenceOptions ReferenceOptionsOf(const Config& config) {
  return {HttpOptionsOf(config), S3OptionsOf(config, false)};
}

// What to say of references in Parquet files.
Status ParquetRefusal(const std::string& location) {
  const std::string shown = ShownName(location);
  const std::string scheme = IsRemoteName(location) ? shown.substr(0, shown.find(':')) : "file";
  return UnsupportedError(
      "'" + shown +
      "': references in Parquet files are not read. This makes a file x.json of them: "
      "python3 -c \"import base64, fsspec, json; from fsspec.implementations.reference import "
      "LazyReferenceMapper as M; m = M('" +
      shown + "', fsspec.filesystem('" + scheme +
      "')); "
      "json.dump({'version': 1, 'refs': {k: v if isinstance(v, list) else 'base64:' + "
      "base64.b64encode(v).decode() for k in m for v in [m[k]]}}, open('x.json', 'w'), default=int)\"");
}

Result<std::unique_ptr<Store>> OpenRemote(const std::string& location, bool writable, const Config& config) {
  H5ZARR_ASSIGN_OR_RETURN(const auto version, FindRemoteIcechunk(location, config));
  if (writable) {
    if (version) return RefuseVersion(location);
    return OpenPlace(location, true, config);
  }
  if (version) {
    H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> place, OpenPlace(version->repository, false, config));
    return icechunk::OpenSnapshot(std::move(place), version->version, version->node_path);
  }
  if (NamesReferences(location)) return OpenRemoteReferences(location, ReferenceOptionsOf(config));
  H5ZARR_ASSIGN_OR_RETURN(const RemoteObject found, FindRemoteFile(location, config));
  switch (found.kind) {
    case StoreFileKind::kReferences: return OpenRemoteReferences(location, ReferenceOptionsOf(config));
    case StoreFileKind::kTar: return OpenRemoteTarReferences(found.file, location, ReferenceOptionsOf(config));
    case StoreFileKind::kZip: return OpenRemoteZipStore(found.file);
    case StoreFileKind::kHdf5:
      return InvalidArgumentError("'" + ShownName(location) + "' is an HDF5 file, and no store");
    case StoreFileKind::kNone: break;
  }
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> store, OpenPlace(location, false, config));
  return zarr::ListByConsolidated(std::move(store), ParquetRefusal(location));
}

// The object at `location`, "s3://bucket/folder/name".
Result<std::shared_ptr<RemoteFile>> OpenInBucket(const std::string& location, const Config& config) {
  const std::size_t slash = location.rfind('/');
  const std::string key = location.substr(slash + 1);
  // (A bucket alone is none.)
  if (key.empty() || !IsS3Url(location.substr(0, slash)) || !CheckKey(key).ok()) {
    return std::shared_ptr<RemoteFile>();
  }
  H5ZARR_ASSIGN_OR_RETURN(std::unique_ptr<Store> store,
                          MakeS3Store(location.substr(0, slash), S3OptionsOf(config, false)));
  return RemoteFile::OpenInStore(std::move(store), key, location, config.cache_bytes);
}

// HDF5's signature is at the beginning, or behind a user block, whose size is a power of two from 512 on.
bool HasHdf5Signature(std::string_view beginning) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  if (beginning.starts_with(kSignature)) return true;
  for (std::size_t at = 512; at < beginning.size(); at *= 2) {
    if (beginning.substr(at).starts_with(kSignature)) return true;
  }
  return false;
}

// What a file is that begins so.
StoreFileKind KindOf(std::string_view beginning) {
  if (beginning.starts_with("PK\3\4") || beginning.starts_with("PK\5\6")) {
    return StoreFileKind::kZip;
  }
  if (LooksLikeTar(beginning)) return StoreFileKind::kTar;
  if (IsPackedText(beginning)) {
    return LooksLikeReferences(BeginningOfPackedText(beginning, kJsonLookBytes)) ? StoreFileKind::kReferences
                                                                                 : StoreFileKind::kNone;
  }
  return LooksLikeReferences(beginning) ? StoreFileKind::kReferences : StoreFileKind::kNone;
}

// What follows the name of a repository.
IcechunkLocation TakeVersion(std::string repository, std::string_view rest) {
  IcechunkLocation parts;
  parts.repository = std::move(repository);
  if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    parts.version = rest.substr(0, rest.find('/'));
    rest.remove_prefix(parts.version.size());
  }
  if (rest.starts_with('/')) rest.remove_prefix(1);
  parts.node_path = rest;
  return parts;
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
  const std::string_view rest = std::string_view(location).substr(there.size());
  return TakeVersion(std::move(there), rest);
}

Result<std::optional<IcechunkLocation>> FindRemoteIcechunk(const std::string& location, const Config& config) {
  constexpr std::string_view kEnding = ".icechunk";
  const std::string_view name = PathOf(location);
  const std::string_view query = std::string_view(location).substr(name.size());
  // (What stands before the first '/' behind "://" is a host, perhaps with a user's name, or a bucket.)
  const std::size_t begin = std::min(name.find('/', name.find("://") + 3), name.size());
  for (std::size_t end = name.size(); end > begin + 1; --end) {
    const bool is_version = end < name.size() && name[end] == '@';
    const bool is_whole = end == name.size() || name[end] == '/';
    const std::string_view repository = name.substr(0, end);
    if (!is_version && !(is_whole && repository.ends_with(kEnding))) continue;
    const std::string place = std::string(repository) + std::string(query);
    H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenPlace(place, false, config));
    const Result<bool> found = icechunk::IsRepository(*store);
    if (found.status().code() == StatusCode::kPermissionDenied) continue;
    if (!found.ok()) return found.status();
    if (*found) return std::optional(TakeVersion(place, name.substr(end)));
  }
  return std::optional<IcechunkLocation>();
}

bool IsPlainFolder(const std::string& location) {
  struct stat info;
  return !IsRemoteName(location) && !location.ends_with(kLindiFolder) && stat(location.c_str(), &info) == 0 &&
         S_ISDIR(info.st_mode) && !FindIcechunk(location);
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
  const std::string_view text = WithoutMark(block);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  const bool may_be_json = first != std::string_view::npos && text[first] == '{';
  return KindOf(may_be_json || IsPackedText(block) ? read(kJsonLookBytes) : block);
}

Result<RemoteObject> FindRemoteFile(const std::string& location, const Config& config) {
  RemoteObject found;
  RaiseTraceLevel(static_cast<TraceLevel>(config.trace));
  if (!IsRemoteName(location) || NamesZarr(location) || NamesReferences(location)) return found;
  Result<std::shared_ptr<RemoteFile>> opened =
      IsHttpUrl(location) ? RemoteFile::Open(location, HttpOptionsOf(config), config.cache_bytes)
                          : OpenInBucket(location, config);
  // (Servers that list nothing answer so where a store's folder is.)
  if (opened.status().code() == StatusCode::kPermissionDenied) {
    found.denied = opened.status();
    return found;
  }
  if (!opened.ok()) return opened.status();
  found.file = std::move(*opened);
  if (found.file == nullptr) return found;
  std::string beginning(std::min(found.file->file_bytes(), RemoteFile::kHeadBytes), '\0');
  H5ZARR_RETURN_IF_ERROR(found.file->Read(0, std::as_writable_bytes(std::span(beginning.data(), beginning.size()))));
  found.kind = HasHdf5Signature(beginning) ? StoreFileKind::kHdf5
                                           : KindOf(std::string_view(beginning).substr(0, kJsonLookBytes));
  if (found.kind == StoreFileKind::kNone) found.file.reset();
  return found;
}

Status RefuseParquetReferences(const std::string& path) {
  std::ifstream file(path + "/.zmetadata", std::ios::binary);
  if (!file) return OkStatus();
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return zarr::IsParquetReferences(text) ? ParquetRefusal(path) : OkStatus();
}

Result<std::unique_ptr<Store>> OpenPlace(const std::string& location, bool writable, const Config& config) {
  RaiseTraceLevel(static_cast<TraceLevel>(config.trace));
  if (!IsRemoteName(location)) return OpenFolder(location, writable, config);
  std::unique_ptr<Store> store;
  if (IsS3Url(location)) {
    H5ZARR_ASSIGN_OR_RETURN(store, MakeS3Store(location, S3OptionsOf(config, writable)));
    return Traced(std::move(store));
  }
  if (writable) {
    return PermissionDeniedError("'" + ShownName(location) + "': over HTTP stores can only be read");
  }
  H5ZARR_ASSIGN_OR_RETURN(store, MakeHttpStore(location, HttpOptionsOf(config)));
  return Traced(std::move(store));
}

Result<std::unique_ptr<Store>> OpenLocation(const std::string& location, bool writable, const Config& config) {
  RaiseTraceLevel(static_cast<TraceLevel>(config.trace));
  if (std::unique_ptr<Store> given = OpenGivenPlace(location)) return given;
  if (IsRemoteName(location)) return OpenRemote(location, writable, config);
  const StoreFileKind kind = FindStoreFile(location);
  if (kind != StoreFileKind::kNone) {
    if (writable) {
      const std::string what = kind == StoreFileKind::kZip ? "a ZIP archive" : "references";
      return PermissionDeniedError("'" + location + "': " + what + " can only be read");
    }
    if (kind == StoreFileKind::kZip) return OpenZipStore(location);
    if (kind == StoreFileKind::kTar) return OpenTarReferences(location, ReferenceOptionsOf(config));
    return OpenReferences(location, ReferenceOptionsOf(config));
  }
  if (location.ends_with(kLindiFolder)) {
    const std::string document = location + "/lindi.json";
    if (FindStoreFile(document) == StoreFileKind::kReferences) {
      return OpenLocation(document, writable, config);
    }
  }
  if (const auto version = FindIcechunk(location)) {
    if (writable) return RefuseVersion(location);
    return icechunk::OpenSnapshot(OpenFolder(version->repository, false, config), version->version, version->node_path);
  }
  return OpenFolder(location, writable, config);
}

}  // namespace h5zarr
