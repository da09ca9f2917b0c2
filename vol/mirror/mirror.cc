#include "mirror/mirror.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "exec/executor.h"
#include "mirror/lock_mirror.h"
#include "mirror/remove_tags.h"
#include "mirror/snapshot_items.h"
#include "mirror/source_file.h"
#include "mirror/version_adder.h"
#include "mirror/write_behind.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ObjectId;
using icechunk::Snapshot;

// Versions are shown together that were added within about so long: to show one waits for the disk.
constexpr auto kShowAfter = std::chrono::seconds(2);

class Run {
 public:
  // `repository`: in `store`.
  Run(hid_t file, WriteBehind* store, icechunk::Repository repository, const MirrorOptions& options)
      : file_(file),
        store_(store),
        repository_(std::move(repository)),
        options_(options),
        executor_(options.threads),
        adder_(&file_, options.encoding, &repository_, store, &executor_) {}

  Result<MirrorReport> Do(const Versions& versions);

 private:
  Result<std::vector<const Version*>> FindMissing(const Versions& versions);
  Result<std::optional<ObjectId>> FindMirrored(const Version& version);
  Status AddVersions(const std::vector<const Version*>& missing);
  std::string NearestBefore(const Version& version) const;
  Status Show();
  Status SetMain(const Versions& versions);
  Status HandleGone();

  SourceFile file_;
  WriteBehind* const store_;
  icechunk::Repository repository_;
  const MirrorOptions& options_;
  Executor executor_;
  MirrorReport report_;
  VersionAdder adder_;
  std::map<std::string, Version> known_;                  // of the file, by name
  std::map<std::string, ObjectId> snapshot_of_;           // of versions in the repository, by name
  std::vector<std::pair<std::string, ObjectId>> hidden_;  // tags of versions that were added, to be set
};

Result<std::optional<ObjectId>> Run::FindMirrored(const Version& version) {
  H5ZARR_ASSIGN_OR_RETURN(const auto id, repository_.FindTag(TagOf(version.name)));
  if (!id) {
    H5ZARR_ASSIGN_OR_RETURN(const bool was_deleted, repository_.IsDeletedTag(TagOf(version.name)));
    if (!was_deleted) return id;
    return AlreadyExistsError("version '" + version.name + "' was deleted from " + store_->Describe() +
                              ": Icechunk gives no tag twice. Mirror into a new folder to have it");
  }
  H5ZARR_ASSIGN_OR_RETURN(const Snapshot snapshot, repository_.ReadSnapshot(*id));
  const auto item = snapshot.metadata.find(kTimestampItem);
  if (item != snapshot.metadata.end() && item->second == version.timestamp) return id;
  return AlreadyExistsError("version '" + version.name + "' of " + version.timestamp + " is another than the one of " +
                            (item == snapshot.metadata.end() ? "an unknown time" : item->second) +
                            " in the repository: tags never change. Mirror into a new folder to have it");
}

// The nearest version before that is in the repository; empty when there is none.
std::string Run::NearestBefore(const Version& version) const {
  std::string name = version.previous;
  while (!snapshot_of_.contains(name)) {
    const auto before = known_.find(name);
    if (before == known_.end()) return "";
    name = before->second.previous;
  }
  return name;
}

// Lets tags lead to what was added, when all that is below them is safe. They are themselves with the next flush.
Status Run::Show() {
  H5ZARR_RETURN_IF_ERROR(store_->Flush());
  for (const auto& [tag, id] : hidden_) {
    H5ZARR_ASSIGN_OR_RETURN(const bool set, repository_.SetTag(tag, id));
    if (set) ++report_.refs_written;
  }
  hidden_.clear();
  return OkStatus();
}

Status Run::AddVersions(const std::vector<const Version*>& missing) {
  if (missing.empty()) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(adder_.Begin());
  auto shown = std::chrono::steady_clock::now();
  for (const Version* const version : missing) {
    const std::string before = NearestBefore(*version);
    const Result<ObjectId> id =
        adder_.Add(*version, before.empty() ? icechunk::kFirstSnapshot : snapshot_of_.at(before), before);
    if (!id.ok()) {
      // What came before is whole.
      const Status ignored = Show();
      static_cast<void>(ignored);
      return id.status().WithContext("version '" + version->name + "'");
    }
    hidden_.emplace_back(TagOf(version->name), *id);
    snapshot_of_[version->name] = *id;
    ++report_.added;
    if (options_.progress) options_.progress(*version, report_.added, missing.size());
    const auto now = std::chrono::steady_clock::now();
    if (now - shown < kShowAfter) continue;
    H5ZARR_RETURN_IF_ERROR(Show());
    shown = now;
  }
  return Show();
}

// Branch "main" leads to the version that the next one will come from. What others committed on top of
// a version stays.
Status Run::SetMain(const Versions& versions) {
  std::string name = versions.current;
  while (!snapshot_of_.contains(name)) {
    const auto version = known_.find(name);
    if (version == known_.end()) return OkStatus();
    name = version->second.previous;
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto now, repository_.FindBranch(icechunk::kMainBranch));
  if (now && *now != icechunk::kFirstSnapshot) {
    H5ZARR_ASSIGN_OR_RETURN(const Snapshot tip, repository_.ReadSnapshot(*now));
    if (!tip.metadata.contains(kTimestampItem)) {
      report_.main_kept = true;
      return OkStatus();
    }
  }
  H5ZARR_ASSIGN_OR_RETURN(const bool set, repository_.SetBranch(icechunk::kMainBranch, snapshot_of_.at(name)));
  if (set) ++report_.refs_written;
  return OkStatus();
}

// What the file no longer has. Tags that others made are theirs.
Status Run::HandleGone() {
  H5ZARR_ASSIGN_OR_RETURN(const auto tags, repository_.Tags());
  std::set<std::string> tags_of_file;
  for (const auto& [name, version] : known_) tags_of_file.insert(TagOf(name));
  std::map<std::string, ObjectId> gone;
  for (const auto& [tag, id] : tags) {
    if (tags_of_file.contains(tag)) continue;
    H5ZARR_ASSIGN_OR_RETURN(const Snapshot snapshot, repository_.ReadSnapshot(id));
    if (!snapshot.metadata.contains(kTimestampItem)) continue;
    gone[tag] = id;
    report_.gone.push_back(tag);
  }
  if (!options_.delete_gone || gone.empty()) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(RemoveTags(gone, &repository_, store_));
  report_.refs_written += gone.size();
  report_.gone_were_deleted = true;
  return OkStatus();
}

Result<std::vector<const Version*>> Run::FindMissing(const Versions& versions) {
  std::vector<const Version*> missing;
  uint64_t since_us = 0;
  for (const Version& version : versions.all) {
    known_[version.name] = version;
    if (version.name == options_.since) since_us = version.timestamp_us;
  }
  for (const Version& version : versions.all) {
    if (!version.committed) {
      report_.uncommitted.push_back(version.name);
      continue;
    }
    ++report_.versions;
    H5ZARR_ASSIGN_OR_RETURN(const auto id, FindMirrored(version));
    if (id) {
      snapshot_of_[version.name] = *id;
    } else if (options_.since.empty() || version.timestamp_us > since_us) {
      missing.push_back(&version);
    }
  }
  return missing;
}

Result<MirrorReport> Run::Do(const Versions& versions) {
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<const Version*> missing, FindMissing(versions));
  H5ZARR_RETURN_IF_ERROR(AddVersions(missing));
  H5ZARR_RETURN_IF_ERROR(SetMain(versions));
  H5ZARR_RETURN_IF_ERROR(HandleGone());
  H5ZARR_RETURN_IF_ERROR(store_->Flush());
  report_.chunks_added = adder_.packs().chunks_added();
  report_.chunk_bytes_added = adder_.packs().chunk_bytes_added();
  report_.written = adder_.written();
  return report_;
}

}  // namespace

std::string TagOf(const std::string& version) {
  std::string tag;
  for (const char c : version) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '/' || c == '%' || byte < 0x20 || byte == 0x7f) {
      char escaped[4];
      std::snprintf(escaped, sizeof escaped, "%%%02X", byte);
      tag += escaped;
    } else {
      tag += c;
    }
  }
  return tag;
}

Result<MirrorReport> Mirror(hid_t file, Store* store, const MirrorOptions& options) {
  // What is wrong with the file must not leave an empty repository behind.
  H5ZARR_ASSIGN_OR_RETURN(const Versions versions, ReadVersions(file));
  const bool since_is_there =
      options.since.empty() || std::any_of(versions.all.begin(), versions.all.end(),
                                           [&](const Version& version) { return version.name == options.since; });
  if (!since_is_there) return NotFoundError("no version '" + options.since + "' in the file");
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock, LockMirror(store));
  WriteBehind behind(store);
  H5ZARR_ASSIGN_OR_RETURN(icechunk::Repository repository, icechunk::Repository::OpenOrCreate(&behind));
  Run run(file, &behind, std::move(repository), options);
  return run.Do(versions);
}

}  // namespace h5zarr::mirror
