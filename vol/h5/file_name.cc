#include "h5/file_name.h"

#include <sys/stat.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/percent.h"
#include "location/location.h"
#include "store/local_store.h"
#include "store/url.h"
#include "zarr/hierarchy.h"

namespace h5zarr {
namespace {

// "gs" of "gs://bucket/key"; "" where there is no scheme.
std::string_view SchemeOf(std::string_view name) {
  const std::size_t end = name.find("://");
  if (end == std::string_view::npos || end < 2) return {};
  const auto is_of_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
  };
  const std::string_view scheme = name.substr(0, end);
  return std::all_of(scheme.begin(), scheme.end(), is_of_scheme) ? scheme : std::string_view();
}

// Without '/' at the end of the path: the same store by either name.
std::string CanonicalUrl(Url url) {
  while (url.path.ends_with('/')) url.path.pop_back();
  return url.Text();
}

bool IsRegularFile(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
}

}  // namespace

FileName ParseFileName(const char* given) {
  FileName name;
  name.given = given;
  std::string path = name.given;
  if (IsS3Url(path)) {
    name.remote = true;
    while (path.ends_with('/') && IsS3Url(path.substr(0, path.size() - 1))) path.pop_back();
    name.looks_like_zarr = path.ends_with(".zarr");
    name.path = std::move(path);
    return name;
  }
  if (IsHttpUrl(path)) {
    name.remote = true;
    const Result<Url> url = ParseUrl(path);
    name.path = url.ok() ? CanonicalUrl(*url) : path;
    name.looks_like_zarr = url.ok() && name.path.substr(0, name.path.find('?')).ends_with(".zarr");
    return name;
  }
  if (path.starts_with("file://")) {
    path = PercentDecoded(std::string_view(path).substr(7));
    if (path.starts_with("localhost/")) path = path.substr(9);
  }
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  name.looks_like_zarr = path.ends_with(".zarr");
  char resolved[PATH_MAX];
  if (realpath(path.c_str(), resolved) != nullptr) {
    name.path = resolved;
    return name;
  }
  // Not there (yet): its folder may be, or one above that (groups of a version are no folders).
  std::size_t slash = path.rfind('/');
  while (slash != std::string::npos && slash > 0 && realpath(path.substr(0, slash).c_str(), resolved) == nullptr) {
    slash = path.rfind('/', slash - 1);
  }
  std::string folder = slash == 0 ? "" : resolved;
  if (slash == std::string::npos) {
    folder = realpath(".", resolved) != nullptr ? resolved : ".";
    path = "/" + path;
    slash = 0;
  }
  if (folder == "/") folder.clear();
  name.path = folder + path.substr(slash);
  return name;
}

bool IsForeignUrl(const std::string& given) {
  const std::string scheme(SchemeOf(given));
  return !scheme.empty() && scheme != "file" && !IsRemoteName(given) && !IsFolder(scheme + ":");
}

bool IsFolder(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

bool HasRootDocument(const std::string& path) {
  return IsFolder(path) &&
         (IsRegularFile(path + "/zarr.json") || IsRegularFile(path + "/.zgroup") || IsRegularFile(path + "/.zarray"));
}

bool IsStore(const std::string& path, const Config& config) {
  if (HasRootDocument(path)) return true;
  if (FindIcechunk(path)) return true;
  const StoreFileKind kind = FindStoreFile(path);
  if (kind == StoreFileKind::kReferences) return true;
  if (kind == StoreFileKind::kNone && !IsFolder(path) && !IsRemoteName(path)) return false;
  const auto store = OpenLocation(path, false, config);
  if (!store.ok()) return false;
  zarr::Hierarchy hierarchy(store->get());
  const auto root = hierarchy.Open("");
  return root.ok() && root->has_value();
}

bool IsEmptyFolder(const std::string& path) {
  const std::unique_ptr<Store> store = MakeLocalStore(path, {.read_only = true});
  const auto entries = store->List("");
  return entries.ok() && entries->empty();
}

std::string OutermostStore(const std::string& path) {
  std::string outermost = path;
  for (std::size_t slash = path.rfind('/'); slash != std::string::npos && slash > 0;
       slash = path.rfind('/', slash - 1)) {
    const std::string above = path.substr(0, slash);
    if (HasRootDocument(above)) outermost = above;
  }
  return outermost;
}

}  // namespace h5zarr
