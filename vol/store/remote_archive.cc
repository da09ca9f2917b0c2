#include "store/remote_archive.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

namespace h5zarr {
namespace {

// Records of a ZIP archive begin with "PK" and two more bytes.
constexpr std::string_view kEnd = "PK\5\6", kEnd64 = "PK\6\6", kLocator64 = "PK\6\7";
constexpr std::string_view kEntry = "PK\1\2";
constexpr uint64_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20;
constexpr uint64_t kEntryBytes = 46, kHeaderBytes = 30;
constexpr uint64_t kMaxCommentBytes = 0xFFFF;
constexpr uint64_t kIn64 = 0xFFFFFFFF;  // the value is in the record's 64-bit part
// There may be more between a member and its header than the directory says.
constexpr uint64_t kSlackBytes = 64;

uint64_t Number(std::string_view record, std::size_t at, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) {
    value = value << 8 | static_cast<unsigned char>(record[at + static_cast<std::size_t>(i)]);
  }
  return value;
}

Result<std::string> ReadText(RemoteFile& file, uint64_t offset, uint64_t bytes) {
  // (The length is the archive's word.)
  if (bytes > file.file_bytes()) return CorruptError("no directory of a ZIP archive");
  std::string text(bytes, '\0');
  H5ZARR_RETURN_IF_ERROR(file.Read(offset, std::as_writable_bytes(std::span(text.data(), text.size()))));
  return text;
}

Result<RemoteFile::Span> FindDirectory(RemoteFile& file) {
  const Status none = CorruptError("no directory of a ZIP archive");
  const uint64_t tail_bytes = std::min(file.file_bytes(), kLocator64Bytes + kEndBytes + kMaxCommentBytes);
  H5ZARR_ASSIGN_OR_RETURN(const std::string tail, ReadText(file, file.file_bytes() - tail_bytes, tail_bytes));
  const std::size_t end = tail.rfind(kEnd);
  if (end == std::string::npos || tail.size() - end < kEndBytes) return none;
  const RemoteFile::Span directory{Number(tail, end + 16, 4), Number(tail, end + 12, 4)};
  if (directory.offset != kIn64 && directory.length != kIn64) return directory;
  if (end < kLocator64Bytes || tail.compare(end - kLocator64Bytes, 4, kLocator64) != 0) return none;
  const uint64_t end64_at = Number(tail, end - kLocator64Bytes + 8, 8);
  H5ZARR_ASSIGN_OR_RETURN(const std::string end64, ReadText(file, end64_at, kEnd64Bytes));
  if (!end64.starts_with(kEnd64)) return none;
  return RemoteFile::Span{Number(end64, 48, 8), Number(end64, 40, 8)};
}

// The offset in an entry's 64-bit part, where it stands behind those of its two sizes that are there, too.
uint64_t Offset64(std::string_view entry, std::string_view extra) {
  while (extra.size() >= 4) {
    const uint64_t bytes = Number(extra, 2, 2);
    if (bytes + 4 > extra.size()) break;
    if (Number(extra, 0, 2) == 1) {
      const std::size_t at = 4 + (Number(entry, 24, 4) == kIn64 ? 8u : 0u) + (Number(entry, 20, 4) == kIn64 ? 8u : 0u);
      return at + 8 <= bytes + 4 ? Number(extra, at, 8) : kIn64;
    }
    extra.remove_prefix(bytes + 4);
  }
  return kIn64;
}

}  // namespace

Status RemoteArchive::FindMembers() {
  H5ZARR_ASSIGN_OR_RETURN(const RemoteFile::Span span, FindDirectory(*file_));
  H5ZARR_RETURN_IF_ERROR(file_->Prefetch({&span, 1}));  // (libzip will read it, too)
  H5ZARR_ASSIGN_OR_RETURN(const std::string text, ReadText(*file_, span.offset, span.length));
  std::string_view directory = text;
  while (directory.size() >= kEntryBytes && directory.starts_with(kEntry)) {
    const uint64_t name = Number(directory, 28, 2), extra = Number(directory, 30, 2);
    const uint64_t bytes = kEntryBytes + name + extra + Number(directory, 32, 2);
    if (bytes > directory.size()) break;
    uint64_t header = Number(directory, 42, 4);
    if (header == kIn64) header = Offset64(directory, directory.substr(kEntryBytes + name, extra));
    places_.push_back({header, name + extra});
    directory.remove_prefix(bytes);
  }
  return OkStatus();
}

Status RemoteArchive::Prefetch(std::span<const Wanted> members) {
  const uint64_t file_bytes = file_->file_bytes();
  std::vector<RemoteFile::Span> spans;
  const auto add = [&](uint64_t offset, uint64_t length) {
    if (offset < file_bytes) spans.push_back({offset, std::min(length, file_bytes - offset)});
  };
  for (const Wanted& wanted : members) {
    if (wanted.number >= places_.size() || wanted.offset > file_bytes || wanted.length > file_bytes) {
      continue;
    }
    const Place& place = places_[wanted.number];
    if (place.header >= file_bytes) continue;
    const uint64_t head_bytes = kHeaderBytes + place.name_bytes;
    if (wanted.offset == 0) {
      add(place.header, head_bytes + kSlackBytes + wanted.length);
    } else {
      add(place.header, head_bytes + kSlackBytes);
      add(place.header + head_bytes + wanted.offset, wanted.length + kSlackBytes);
    }
  }
  return file_->Prefetch(spans);
}

Result<zip_t*> RemoteArchive::Open(const ZipLibrary& zip) {
  if (!FindMembers().ok()) places_.clear();
  zip_error_t error;
  zip.error_init_with_code(&error, 0);
  zip_source_t* const source = zip.source_function_create(&RemoteArchive::OnCommand, this, &error);
  zip_t* const archive = source != nullptr ? zip.open_from_source(source, ZIP_RDONLY, &error) : nullptr;
  const std::string why = zip.error_strerror(&error);
  zip.error_fini(&error);
  if (archive != nullptr) return archive;
  if (source != nullptr) zip.source_free(source);
  if (!failure_.ok()) return failure_;
  return CorruptError("'" + file_->name() + "': " + why);
}

zip_int64_t RemoteArchive::OnCommand(void* self, void* data, zip_uint64_t bytes, zip_source_cmd_t command) {
  try {
    return static_cast<RemoteArchive*>(self)->Answer(data, bytes, command);
  } catch (...) {
    return -1;
  }
}

zip_int64_t RemoteArchive::Read(void* data, uint64_t bytes) {
  const uint64_t count = std::min(bytes, file_->file_bytes() - at_);
  Status read = file_->Read(at_, {static_cast<std::byte*>(data), count});
  if (!read.ok()) {
    failure_ = std::move(read);
    return -1;
  }
  at_ += count;
  return static_cast<zip_int64_t>(count);
}

zip_int64_t RemoteArchive::Seek(const void* data, uint64_t bytes) {
  zip_source_args_seek_t seek;
  if (bytes < sizeof seek) return -1;
  std::memcpy(&seek, data, sizeof seek);
  const uint64_t file_bytes = file_->file_bytes();
  const uint64_t from = seek.whence == SEEK_SET ? 0 : seek.whence == SEEK_CUR ? at_ : file_bytes;
  // (Sums of two numbers that are each less than half of what there is.)
  if (seek.offset > INT64_MAX / 2 || seek.offset < INT64_MIN / 2 || from > INT64_MAX / 2) return -1;
  const zip_int64_t to = static_cast<zip_int64_t>(from) + seek.offset;
  if (to < 0 || static_cast<uint64_t>(to) > file_bytes) return -1;
  at_ = static_cast<uint64_t>(to);
  return 0;
}

zip_int64_t RemoteArchive::Answer(void* data, uint64_t bytes, zip_source_cmd_t command) {
  switch (command) {
    case ZIP_SOURCE_OPEN: at_ = 0; return 0;
    case ZIP_SOURCE_CLOSE:
    case ZIP_SOURCE_FREE: return 0;
    case ZIP_SOURCE_READ: return Read(data, bytes);
    case ZIP_SOURCE_SEEK: return Seek(data, bytes);
    case ZIP_SOURCE_TELL: return static_cast<zip_int64_t>(at_);
    case ZIP_SOURCE_STAT: {
      zip_stat_t stat;
      std::memset(&stat, 0, sizeof stat);
      stat.valid = ZIP_STAT_SIZE;
      stat.size = file_->file_bytes();
      if (bytes < sizeof stat) return -1;
      std::memcpy(data, &stat, sizeof stat);
      return sizeof stat;
    }
    case ZIP_SOURCE_ERROR: {
      const int codes[2] = {ZIP_ER_READ, EIO};
      if (bytes < sizeof codes) return -1;
      std::memcpy(data, codes, sizeof codes);
      return sizeof codes;
    }
    case ZIP_SOURCE_SUPPORTS: {
      zip_int64_t known = 0;
      for (const int one : {ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR,
                            ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL, ZIP_SOURCE_SUPPORTS}) {
        known |= zip_int64_t{1} << one;
      }
      return known;
    }
    default: return -1;
  }
}

}  // namespace h5zarr
