#include "h5/mirrored_files.h"

#include <unistd.h>

#include <cstdio>
#include <utility>

#include "h5/file_name.h"
#include "host/guard.h"
#include "host/native.h"

namespace h5zarr {
namespace {

UpdateMirror update_mirror = nullptr;

std::string NameIn(const std::string& path) { return path.substr(path.rfind('/') + 1); }

// Where `config` says that the file at `path` is mirrored to; "" for nowhere. A name that ends in '/' is that of a
// folder of mirrors, one a file.
std::string DestinationOf(const std::string& path, const Config& config) {
  std::string mirror = config.mirror;
  if (mirror.empty()) return "";
  if (mirror.ends_with('/')) mirror += NameIn(path) + ".icechunk";
  return ParseFileName(mirror.c_str()).path;
}

void Warn(const MirroredFile& file, const Status& why) {
  std::fprintf(stderr, "h5zarr: '%s' is not mirrored to '%s': %s\n", file.path.c_str(), file.destination.c_str(),
               why.message().c_str());
}

}  // namespace

MirroredFiles& GetMirroredFiles() {
  static MirroredFiles* const files = new MirroredFiles;
  return *files;
}

void SetUpdateMirror(UpdateMirror update) { update_mirror = update; }

Status MirroredFiles::NoteOpened(void* under, const std::string& path, bool writable, const Config& config,
                                 hid_t fapl) {
  if (update_mirror == nullptr || updating_ || (files_.empty() && !writable)) return OkStatus();
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  const Result<unsigned long> number = host::FileNumber(under);
  const auto known = number.ok() ? files_.find(*number) : files_.end();
  if (known != files_.end() && known->second.pid == getpid()) {
    ++known->second.handles;
    return OkStatus();
  }
  if (!writable) return OkStatus();
  File opened;
  opened.mirrored = {path, DestinationOf(path, config), H5I_INVALID_HID};
  opened.fails = config.mirror_fails;
  if (opened.mirrored.destination.empty()) return OkStatus();
  if (!number.ok()) return Failed(opened, UnsupportedError("HDF5 does not tell which file it is"));
  opened.fapl = Handle(H5Pcopy(fapl));
  opened.mirrored.fapl = opened.fapl.get();
  opened.pid = getpid();
  opened.handles = 1;
  files_.insert_or_assign(*number, std::move(opened));
  return OkStatus();
}

void MirroredFiles::NoteReopened(void* under) {
  if (files_.empty() || updating_) return;
  const Result<unsigned long> number = host::FileNumber(under);
  if (!number.ok()) return;
  const auto known = files_.find(*number);
  if (known != files_.end()) ++known->second.handles;
}

std::optional<unsigned long> MirroredFiles::NumberOf(const Object& object) const {
  if (files_.empty() || updating_) return std::nullopt;
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  unsigned long number = 0;
  if (object.native.type == H5I_FILE) {
    const Result<unsigned long> asked = host::FileNumber(object.native.under);
    if (!asked.ok()) return std::nullopt;
    number = *asked;
  } else {
    const Result<host::Identity> identity = host::Identify(object.native);
    if (!identity.ok()) return std::nullopt;
    number = identity->fileno;
  }
  return files_.contains(number) ? std::optional(number) : std::nullopt;
}

Status MirroredFiles::Bring(const File& file) {
  if (file.pid != getpid()) return OkStatus();
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  updating_ = true;
  const Status updated = host::CatchAll([&] { return update_mirror(file.mirrored); });
  updating_ = false;
  return updated.ok() ? updated : Failed(file, updated);
}

Status MirroredFiles::Failed(const File& file, const Status& why) {
  if (file.fails) {
    return why.WithContext("the mirror '" + file.mirrored.destination + "' of '" + file.mirrored.path + "'");
  }
  Warn(file.mirrored, why);
  return OkStatus();
}

Status MirroredFiles::AfterFlush(const Object& object) {
  const auto number = NumberOf(object);
  return number ? Bring(files_.at(*number)) : OkStatus();
}

Status MirroredFiles::BeforeClose(const Object& object) {
  const auto number = NumberOf(object);
  if (!number || files_.at(*number).handles > 1) return OkStatus();
  return Bring(files_.at(*number));
}

void MirroredFiles::NoteClosed(unsigned long number) {
  const auto known = files_.find(number);
  if (known != files_.end() && --known->second.handles == 0) files_.erase(known);
}

void MirroredFiles::UpdateAll() {
  for (auto& [number, file] : files_) {
    file.fails = false;
    (void)Bring(file).ok();
  }
}

}  // namespace h5zarr
