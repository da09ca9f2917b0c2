#include "store/zip_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "store/list_keys.h"
#include "store/read_only_store.h"
#include "store/read_plan.h"
#include "store/remote_archive.h"
#include "store/zip_library.h"

namespace h5zarr {
namespace {

// Deflate makes no more of a byte: a member that says it is longer is damaged, or a trap.
constexpr uint64_t kMaxRatio = 1100;
// Estimates of what a member costs to find, and each of its bytes.
constexpr double kMemberCostNs = 10'000;
constexpr double kByteCostNs = 1;
// Of a remote archive so much is asked for at a time.
constexpr uint64_t kMaxPrefetchBytes = 16 << 20;

struct Member {
  uint64_t number = 0;
  uint64_t size_bytes = 0;
  uint64_t stored_bytes = 0;
  bool is_stored = false;
};
using Members = std::map<std::string, Member, std::less<>>;

class ZipStore : public ReadOnlyStore {
 public:
  // `remote`: what the archive reads; null for a local one.
  ZipStore(const ZipLibrary* zip, zip_t* archive, std::string path, Members members,
           std::unique_ptr<RemoteArchive> remote)
      : zip_(*zip),
        remote_(std::move(remote)),
        archive_(archive),
        path_(std::move(path)),
        members_(std::move(members)) {}
  ~ZipStore() override { zip_.discard(archive_); }

  std::string Describe() const override { return path_; }

  Status ReadBatch(std::span<ReadOp> ops, const ReadSink& sink, Executor& executor) override {
    for (std::size_t begin = 0, end = 0; begin < ops.size(); begin = end) {
      double cost_ns = 0;
      std::vector<RemoteArchive::Wanted> wanted;
      uint64_t wanted_bytes = 0;
      for (; end < ops.size() && wanted_bytes < kMaxPrefetchBytes; ++end) {
        const ReadOp& op = ops[end];
        H5ZARR_RETURN_IF_ERROR(CheckKey(op.key));
        cost_ns += op.sink_cost_ns + kMemberCostNs + kByteCostNs * static_cast<double>(op.range.length);
        if (remote_ == nullptr) continue;
        wanted.push_back(WantedOf(op));
        wanted_bytes += wanted.back().length;
      }
      if (remote_ != nullptr) {
        const std::lock_guard<std::mutex> lock(mutex_);
        H5ZARR_RETURN_IF_ERROR(remote_->Prefetch(wanted));
      }
      H5ZARR_RETURN_IF_ERROR(executor.ParallelFor(
          end - begin, cost_ns, [&](std::size_t i) { return ReadOne(ops[begin + i], begin + i, sink); }));
    }
    return OkStatus();
  }

  Result<std::optional<Buffer>> Read(std::string_view key, Generation* generation) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    if (generation != nullptr) *generation = Generation();
    const auto found = members_.find(key);
    if (found == members_.end()) return std::optional<Buffer>();
    H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(found->second.size_bytes));
    H5ZARR_RETURN_IF_ERROR(ReadBytes(key, found->second, 0, bytes.span()));
    return std::optional<Buffer>(std::move(bytes));
  }

  Result<std::optional<uint64_t>> ObjectBytes(std::string_view key) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(key));
    const auto found = members_.find(key);
    if (found == members_.end()) return std::optional<uint64_t>();
    return std::optional<uint64_t>(found->second.size_bytes);
  }

  Result<std::vector<ListEntry>> List(std::string_view prefix) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    return ListKeys(members_, prefix);
  }

  Status Walk(std::string_view prefix,
              const std::function<Status(std::string_view key, uint64_t bytes)>& visit) override {
    H5ZARR_RETURN_IF_ERROR(CheckKey(prefix, true));
    const std::string start = prefix.empty() ? std::string() : std::string(prefix) + "/";
    for (auto it = members_.lower_bound(start); it != members_.end() && it->first.starts_with(start); ++it) {
      H5ZARR_RETURN_IF_ERROR(visit(it->first, it->second.size_bytes));
    }
    return OkStatus();
  }

 private:
  Status Refusal() const override { return PermissionDeniedError("'" + path_ + "': a ZIP archive can only be read"); }
  std::string NameOf(std::string_view key) const { return "'" + path_ + "', member '" + std::string(key) + "'"; }

  // What is read of the archive for `op`.
  RemoteArchive::Wanted WantedOf(const ReadOp& op) const {
    const auto found = members_.find(op.key);
    if (found == members_.end()) return {UINT64_MAX, 0, 0};
    const Member& member = found->second;
    const Result<ByteRange> range = LocateRange(op, member.size_bytes, "");
    if (!member.is_stored || !range.ok()) return {member.number, 0, member.stored_bytes};
    return {member.number, range->offset, range->length};
  }

  Status ReadOne(const ReadOp& op, std::size_t index, const ReadSink& sink) {
    const auto found = members_.find(op.key);
    if (found == members_.end()) return sink(index, ReadResult{});
    const Member& member = found->second;
    H5ZARR_ASSIGN_OR_RETURN(const ByteRange range, LocateRange(op, member.size_bytes, NameOf(op.key)));
    Buffer memory;
    MutableByteSpan bytes = op.target;
    if (bytes.empty()) {
      H5ZARR_ASSIGN_OR_RETURN(memory, Buffer::Allocate(range.length));
      bytes = memory.span();
    }
    H5ZARR_RETURN_IF_ERROR(ReadBytes(op.key, member, range.offset, bytes));
    ReadResult result;
    result.bytes = bytes;
    result.object_bytes = member.size_bytes;
    return sink(index, result);
  }

  // libzip checks the checksum of what is read from the first byte to the last.
  Status ReadBytes(std::string_view key, const Member& member, uint64_t offset, MutableByteSpan target) {
    const std::lock_guard<std::mutex> lock(mutex_);
    zip_file_t* const file = zip_.fopen_index(archive_, member.number, 0);
    if (file == nullptr) return WhyNot(CorruptError(NameOf(key) + ": " + zip_.strerror(archive_)));
    Status status = Skip(file, member, offset);
    if (status.ok()) status = Fill(file, target);
    // At the end libzip has compared the checksum.
    std::byte none{};
    if (status.ok() && offset + target.size() == member.size_bytes && zip_.fread(file, &none, 1) != 0) {
      status = CorruptError(zip_.file_strerror(file));
    }
    zip_.fclose(file);
    return status.ok() ? status : WhyNot(status.WithContext(NameOf(key)));
  }

  // A failure of the archive is one of the server's answer where that failed.
  Status WhyNot(Status failure) const {
    return remote_ != nullptr && !remote_->failure().ok() ? remote_->failure() : failure;
  }

  Status Skip(zip_file_t* file, const Member& member, uint64_t offset) {
    if (offset == 0) return OkStatus();
    if (member.is_stored && zip_.fseek(file, static_cast<zip_int64_t>(offset), SEEK_SET) == 0) {
      return OkStatus();
    }
    H5ZARR_ASSIGN_OR_RETURN(Buffer skipped, Buffer::Allocate(std::min<uint64_t>(offset, 1 << 16)));
    for (uint64_t left = offset; left > 0;) {
      const uint64_t step = std::min<uint64_t>(left, skipped.size_bytes());
      H5ZARR_RETURN_IF_ERROR(Fill(file, skipped.span().first(step)));
      left -= step;
    }
    return OkStatus();
  }

  Status Fill(zip_file_t* file, MutableByteSpan target) {
    while (!target.empty()) {
      const zip_int64_t count = zip_.fread(file, target.data(), target.size());
      if (count < 0) return CorruptError(zip_.file_strerror(file));
      if (count == 0) return CorruptError("it ends before its length");
      target = target.subspan(static_cast<std::size_t>(count));
    }
    return OkStatus();
  }

  const ZipLibrary& zip_;
  const std::unique_ptr<RemoteArchive> remote_;  // used under mutex_
  std::mutex mutex_;
  zip_t* const archive_;  // used under mutex_
  const std::string path_;
  const Members members_;
};

// Some programs for Windows separate folders by '\\': then no name has a '/'.
void MendSeparators(Members* members) {
  const auto has = [](char letter) {
    return [letter](const auto& member) { return member.first.find(letter) != std::string::npos; };
  };
  if (std::any_of(members->begin(), members->end(), has('/')) ||
      std::none_of(members->begin(), members->end(), has('\\'))) {
    return;
  }
  Members mended;
  for (const auto& [name, member] : *members) {
    std::string key = name;
    std::replace(key.begin(), key.end(), '\\', '/');
    if (CheckKey(key).ok()) mended[std::move(key)] = member;
  }
  *members = std::move(mended);
}

Result<Members> ReadDirectory(const ZipLibrary& zip, zip_t* archive, uint64_t file_bytes, const std::string& path) {
  Members members;
  const zip_int64_t count = zip.get_num_entries(archive, 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip.stat_index(archive, static_cast<zip_uint64_t>(i), 0, &info) != 0) {
      return CorruptError("'" + path + "', member " + std::to_string(i) + ": " + zip.strerror(archive));
    }
    constexpr zip_uint64_t kNeeded = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    // Folders are members, too, and so may be anything.
    if ((info.valid & kNeeded) != kNeeded || !CheckKey(info.name).ok()) continue;
    const std::optional<uint64_t> most = CheckedMul(info.comp_size, kMaxRatio);
    if (info.comp_size > file_bytes || (most && info.size > *most + kMaxRatio)) {
      return CorruptError("'" + path + "', member '" + info.name + "': its size, " + std::to_string(info.size) +
                          " bytes, cannot be");
    }
    members[info.name] = {static_cast<uint64_t>(i), info.size, info.comp_size, info.comp_method == ZIP_CM_STORE};
  }
  MendSeparators(&members);
  return members;
}

// Takes the archive.
Result<std::unique_ptr<Store>> MakeZipStore(const ZipLibrary* zip, zip_t* archive, uint64_t file_bytes,
                                            const std::string& path, std::unique_ptr<RemoteArchive> remote) {
  Result<Members> members = ReadDirectory(*zip, archive, file_bytes, path);
  if (!members.ok()) {
    zip->discard(archive);
    return members.status();
  }
  return std::unique_ptr<Store>(std::make_unique<ZipStore>(zip, archive, path, std::move(*members), std::move(remote)));
}

}  // namespace

Result<std::unique_ptr<Store>> OpenRemoteZipStore(std::shared_ptr<RemoteFile> file) {
  H5ZARR_ASSIGN_OR_RETURN(const ZipLibrary* const zip, LoadZipLibrary());
  auto remote = std::make_unique<RemoteArchive>(file);
  H5ZARR_ASSIGN_OR_RETURN(zip_t* const archive, remote->Open(*zip));
  return MakeZipStore(zip, archive, file->file_bytes(), file->name(), std::move(remote));
}

Result<std::unique_ptr<Store>> OpenZipStore(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) return ErrnoError(errno, "cannot open '" + path + "'");
  H5ZARR_ASSIGN_OR_RETURN(const ZipLibrary* const zip, LoadZipLibrary());
  int code = 0;
  zip_t* const archive = zip->open(path.c_str(), ZIP_RDONLY, &code);
  if (archive == nullptr) {
    zip_error_t error;
    zip->error_init_with_code(&error, code);
    const std::string why = zip->error_strerror(&error);
    zip->error_fini(&error);
    return CorruptError("'" + path + "': " + why);
  }
  return MakeZipStore(zip, archive, static_cast<uint64_t>(info.st_size), path, nullptr);
}

}  // namespace h5zarr
