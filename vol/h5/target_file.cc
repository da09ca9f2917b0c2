#include "h5/target_file.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "host/error_stack.h"
#include "store/url.h"

namespace h5zarr {
namespace {

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string Absolute(const std::string& path) {
  char* resolved = realpath(path.c_str(), nullptr);
  if (resolved == nullptr) return path;
  std::string absolute(resolved);
  std::free(resolved);
  return absolute;
}

// What `relative` means beside the object `parent`, "s3://bucket/folder/name".
std::string BesideInBucket(const std::string& parent, std::string_view relative) {
  std::string path = parent.substr(0, parent.rfind('/'));
  while (!relative.empty()) {
    const std::string_view segment = relative.substr(0, relative.find('/'));
    relative.remove_prefix(std::min(segment.size() + 1, relative.size()));
    const std::string above = path.substr(0, path.rfind('/'));
    if (segment == ".." && IsS3Url(above)) path = above;
    if (!segment.empty() && segment != "." && segment != "..") path.append("/").append(segment);
  }
  return path;
}

Result<std::vector<std::string>> RemoteCandidates(const std::string& target, const std::string& parent) {
  if (IsRemoteName(target)) return std::vector<std::string>{target};
  if (target.find("://") != std::string::npos) {
    return PermissionDeniedError("'" + ShownName(parent) + "' names '" + target +
                                 "', a file of this machine, which no remote file may");
  }
  // (Of a path on the machine where it was written its name is left, as HDF5 has it.)
  const std::string relative = target.starts_with('/') ? target.substr(target.rfind('/') + 1) : target;
  if (IsS3Url(parent)) return std::vector<std::string>{BesideInBucket(parent, relative)};
  H5ZARR_ASSIGN_OR_RETURN(const Url base, ParseUrl(parent));
  H5ZARR_ASSIGN_OR_RETURN(const Url beside, ResolveUrl(base, PercentEncode(relative)));
  return std::vector<std::string>{beside.Text()};
}

}  // namespace

bool MayExist(const std::string& path) {
  struct stat status;
  return path.find("://") != std::string::npos || stat(path.c_str(), &status) == 0 ||
         (errno != ENOENT && errno != ENOTDIR);
}

Result<std::vector<std::string>> TargetCandidates(const std::string& target, const std::string& parent,
                                                  const char* prefix_variable, const std::string& prefix) {
  std::vector<std::string> candidates;
  std::string relative = target;
  // What is remote names what is remote: beside it, or by a whole URL.
  if (IsRemoteName(parent)) return RemoteCandidates(target, parent);
  if (target.find("://") != std::string::npos) return std::vector<std::string>{target};
  if (!target.empty() && target[0] == '/') {
    candidates.push_back(target);
    relative = target.substr(target.rfind('/') + 1);
  }
  const std::string folder = FolderOf(Absolute(parent));
  if (const char* variable = std::getenv(prefix_variable)) {
    std::string list(variable);
    while (!list.empty()) {
      const std::size_t colon = list.find(':');
      const std::string one = list.substr(0, colon);
      if (!one.empty()) candidates.push_back(one + "/" + relative);
      list = colon == std::string::npos ? "" : list.substr(colon + 1);
    }
  }
  if (!prefix.empty()) {
    std::string expanded = prefix;
    const std::size_t origin = expanded.find("${ORIGIN}");
    if (origin != std::string::npos) expanded.replace(origin, 9, folder);
    candidates.push_back(expanded + "/" + relative);
  }
  candidates.push_back(folder + "/" + relative);
  candidates.push_back(relative);
  return candidates;
}

Result<TargetFile> OpenTarget(const std::vector<std::string>& candidates, unsigned flags, hid_t fapl) {
  TargetFile target;
  bool failed = false;
  for (const H5F_close_degree_t degree : {H5F_CLOSE_WEAK, H5F_CLOSE_STRONG, H5F_CLOSE_DEFAULT}) {
    if (H5Pset_fclose_degree(fapl, degree) < 0) return host::AlreadyReported();
    host::QuietErrors quiet;
    for (const std::string& candidate : candidates) {
      if (!MayExist(candidate)) continue;
      target.id = Handle(H5Fopen(candidate.c_str(), flags, fapl));
      if (target.id.valid()) {
        target.closes_all = degree != H5F_CLOSE_WEAK;
        return target;
      }
      failed = true;
    }
  }
  if (failed) return host::AlreadyReported();
  return target;
}

}  // namespace h5zarr
