#include "h5/name_refusal.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "h5/store_place.h"
#include "location/location.h"
#include "store/url.h"
#include "store/zip_store.h"
#include "zarr/hierarchy.h"

namespace h5zarr {
namespace {

constexpr std::array<std::string_view, 5> kDocuments = {"zarr.json", ".zgroup", ".zarray", ".zattrs", ".zmetadata"};

// The first bytes of a regular file, blanks left out; nothing for all else.
std::string BeginningOf(const FileName& name) {
  struct stat info;
  if (name.remote || stat(name.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return {};
  std::ifstream file(name.path, std::ios::binary);
  std::string beginning;
  char next = 0;
  while (beginning.size() < 4 && file >> next) beginning += next;
  return beginning;
}

// What the system says of a folder that this process may not look into: whatever is in it seems not to be there.
Status RefuseHiddenFolder(const FileName& name) {
  if (access(name.path.c_str(), R_OK | X_OK) == 0) return OkStatus();
  return ErrnoError(errno, "unable to open '" + name.given + "'");
}

}  // namespace

Status RefuseForeignUrl(const FileName& name) {
  if (!IsForeignUrl(name.given)) return OkStatus();
  return UnsupportedError("'" + ShownName(name.given) +
                          "': of URLs only http://, https://, s3:// and file:// are opened; what is public in "
                          "an object store has an https:// URL, too");
}

Status RefuseDocument(const FileName& name) {
  const std::string_view path =
      std::string_view(name.path).substr(0, IsHttpUrl(name.path) ? name.path.find('?') : std::string::npos);
  const std::size_t slash = path.rfind('/');
  const bool is_document = std::find(kDocuments.begin(), kDocuments.end(), path.substr(slash + 1)) != kDocuments.end();
  // (Nothing else has such a name on servers; here it may be an HDF5 file's.)
  if (!is_document || (!name.remote && !BeginningOf(name).starts_with('{'))) return OkStatus();
  return UnsupportedError("'" + ShownName(name.given) +
                          "' is a document of a Zarr store: the store to open is its "
                          "folder, '" +
                          ShownName(path.substr(0, slash)) + "'");
}

Status RefuseFolder(const FileName& name) {
  if (!IsFolder(name.path)) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(RefuseHiddenFolder(name));
  H5ZARR_RETURN_IF_ERROR(RefuseParquetReferences(name.path));
  // (Who opens with `a` then makes one.)
  if (IsRoomForStore(name)) return ErrnoError(ENOENT, "no store yet in the empty folder '" + name.given + "'");
  return Status(StatusCode::kUnsupported,
                "'" + name.given +
                    "' is a folder, but no Zarr store: it has no zarr.json, .zgroup or "
                    ".zarray, and there is none a few levels below",
                EISDIR);
}

Status RefuseFolderToRead(const FileName& name) {
  if (!IsFolder(name.path) || access(name.path.c_str(), W_OK) == 0) return OkStatus();
  return ErrnoError(errno, "unable to open '" + name.given + "' for writing");
}

Status WhyProbed(const FileName& name) {
  H5ZARR_RETURN_IF_ERROR(RefuseForeignUrl(name));
  H5ZARR_RETURN_IF_ERROR(RefuseDocument(name));
  if (!IsFolder(name.path)) return WhyNoArchive(name);
  if (!HasRootDocument(name.path)) H5ZARR_RETURN_IF_ERROR(RefuseHiddenFolder(name));
  return RefuseParquetReferences(name.path);
}

Status WhyNoArchive(const FileName& name) {
  if (!name.path.ends_with(".zip")) return OkStatus();
  const std::string beginning = BeginningOf(name);
  if (beginning.empty() || beginning == "\x89HDF") return OkStatus();  // HDF5 has said why
  const Result<std::unique_ptr<Store>> archive = OpenZipStore(name.path);
  if (!archive.ok()) return archive.status();
  const auto root = zarr::Hierarchy(archive->get()).Open("");
  if (!root.ok()) return root.status().WithContext("'" + name.given + "'");
  if (*root) return OkStatus();
  return UnsupportedError("'" + name.given +
                          "' is a ZIP archive, but no Zarr store: it has no zarr.json, "
                          ".zgroup or .zarray, and there is none a few levels below");
}

}  // namespace h5zarr
