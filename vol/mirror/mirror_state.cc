#include "mirror/mirror_state.h"

#include <sys/time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>
#include <optional>
#include <utility>

#include "base/config.h"
#include "host/handle.h"
#include "location/given_place.h"
#include "mirror/copy_tree.h"
#include "mirror/file_stamp.h"
#include "mirror/hdf5_read.h"
#include "mirror/lock_mirror.h"
#include "mirror/new_snapshot.h"
#include "mirror/write_behind.h"

namespace h5zarr::mirror {
namespace {

using icechunk::ObjectId;
using icechunk::Repository;
using icechunk::Snapshot;

// What a snapshot says of the state.
constexpr char kSourceItem[] = "h5zarr_source";  // the name of the file
constexpr char kTagItem[] = "h5zarr_tag";
// The file's stamp when it was read; none where anything else had a part in it.
constexpr char kStampItem[] = "h5zarr_stamp";

// How a snapshot is made: what else a user has set would say how stores look.
constexpr char kConfig[] = "create=zarr;zarr_format=3;shard=off;codec=filters;write=through;mirror=off;";

uint64_t NowMicroseconds() {
  timeval now{};
  gettimeofday(&now, nullptr);
  return static_cast<uint64_t>(now.tv_sec) * 1000000 + static_cast<uint64_t>(now.tv_usec);
}

// "20260131T123000Z"; with microseconds "20260131T123000.000001Z".
std::string TimeTag(uint64_t time_us, bool with_microseconds) {
  const auto seconds = static_cast<time_t>(time_us / 1000000);
  tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  std::strftime(text.data(), text.size(), "%Y%m%dT%H%M%S", &parts);
  std::string tag = text.data();
  if (with_microseconds) {
    std::snprintf(text.data(), text.size(), ".%06u", static_cast<unsigned>(time_us % 1000000));
    tag += text.data();
  }
  return tag + "Z";
}

std::string LastName(std::string path) {
  while (path.ends_with('/')) path.pop_back();
  return path.substr(path.rfind('/') + 1);
}

std::string Item(const Snapshot& snapshot, const char* name) {
  const auto found = snapshot.metadata.find(name);
  return found == snapshot.metadata.end() ? "" : found->second;
}

// The tip of "main", which the next state comes after.
Result<Snapshot> ReadParent(const Repository& repository, const std::string& source) {
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<ObjectId> tip, repository.FindBranch(icechunk::kMainBranch));
  H5ZARR_ASSIGN_OR_RETURN(Snapshot parent, repository.ReadSnapshot(tip.value_or(icechunk::kFirstSnapshot)));
  if (parent.id == icechunk::kFirstSnapshot || Item(parent, kSourceItem) == source) return parent;
  const std::string theirs = Item(parent, kSourceItem);
  return AlreadyExistsError(repository.store().Describe() + ": the tip of branch \"main\" is " +
                            (theirs.empty() ? "a version or commit of others" : "a state of '" + theirs + "'") +
                            ", and no state of '" + source + "': mirror into another folder");
}

// A run that was killed may have left a snapshot without its tag.
Status TagAgain(const Snapshot& parent, Repository* repository, StateReport* report) {
  report->snapshot = icechunk::ToText(parent.id);
  report->tag = Item(parent, kTagItem);
  if (report->tag.empty()) return OkStatus();
  const auto set = repository->SetTag(report->tag, parent.id);
  // (Whoever deleted it meant to.)
  if (set.status().code() == StatusCode::kAlreadyExists) return OkStatus();
  H5ZARR_RETURN_IF_ERROR(set.status());
  if (*set) ++report->refs_written;
  return OkStatus();
}

Result<std::string> NewTag(const Repository& repository, const StateOptions& options, uint64_t time_us) {
  if (options.tag.empty()) {
    const std::string tag = TimeTag(time_us, false);
    H5ZARR_ASSIGN_OR_RETURN(const auto taken, repository.FindTag(tag));
    return taken ? TimeTag(time_us, true) : tag;
  }
  H5ZARR_ASSIGN_OR_RETURN(const auto taken, repository.FindTag(options.tag));
  if (!taken) return options.tag;
  return AlreadyExistsError("tag '" + options.tag + "' leads to snapshot " + icechunk::ToText(*taken) +
                            ": tags never change");
}

// Of a whole HDF5 file.
std::optional<std::string> StampOfSource(const OpenedFile& source) {
  uint64_t token = 0;
  if (source.is_version || StoreOf(source.file.get(), &token) != nullptr) return std::nullopt;
  return StampOf(source.file.get());
}

// Copies the source into `snapshot`. Whether nothing but the source is in it.
Result<bool> CopyInto(const OpenedFile& source, const StateOptions& options, NewSnapshot* snapshot) {
  CopyOptions copy;
  copy.to_store = true;
  copy.progress = options.progress;
  const std::string config = kConfig + options.config;
  H5ZARR_RETURN_IF_ERROR(copy.config.Apply(config));
  H5ZARR_ASSIGN_OR_RETURN(const Handle fapl, ConnectorFapl(config));
  H5ZARR_ASSIGN_OR_RETURN(const Handle fcpl, CreationList(source));
  if (H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_V18, H5F_LIBVER_LATEST) < 0) return Hdf5Error("a list");
  const GivenPlace place([snapshot] { return snapshot->MakeStore(); });
  Handle file(H5Fcreate(place.location().c_str(), H5F_ACC_TRUNC, fcpl.get(), fapl.get()));
  if (!file.valid()) return Hdf5Error("the new snapshot");
  H5ZARR_ASSIGN_OR_RETURN(const CopyReport copied, CopyTree(source, file.get(), copy));
  // (By a flush, too: a program may be at its end, where closing saves nothing.)
  if (H5Fflush(file.get(), H5F_SCOPE_LOCAL) < 0 || H5Fclose(file.Release()) < 0) {
    return Hdf5Error("the new snapshot");
  }
  return copied.is_all_of_source;
}

// Makes branch and tag lead to a snapshot that is stored.
Status Show(const Snapshot& parent, const ObjectId& id, const std::string& tag, Repository* repository,
            StateReport* report) {
  // (Icechunk itself takes no lock.)
  H5ZARR_ASSIGN_OR_RETURN(const auto tip, repository->FindBranch(icechunk::kMainBranch));
  if (tip.value_or(icechunk::kFirstSnapshot) != parent.id) {
    return ChangedError("somebody committed to branch \"main\" meanwhile");
  }
  for (const bool is_branch : {true, false}) {
    H5ZARR_ASSIGN_OR_RETURN(const bool set,
                            is_branch ? repository->SetBranch(icechunk::kMainBranch, id) : repository->SetTag(tag, id));
    if (set) ++report->refs_written;
  }
  report->added = true;
  report->tag = tag;
  report->snapshot = icechunk::ToText(id);
  return OkStatus();
}

}  // namespace

Result<StateReport> MirrorState(const OpenedFile& source, Store* store, const StateOptions& options) {
  StateReport report;
  H5ZARR_ASSIGN_OR_RETURN(const std::shared_ptr<void> lock, LockMirror(store));
  // Refs are written at once, what they lead to beside the copying.
  WriteBehind behind(store);
  H5ZARR_ASSIGN_OR_RETURN(Repository refs, Repository::OpenOrCreate(store));
  H5ZARR_ASSIGN_OR_RETURN(Repository objects, Repository::Open(&behind));
  const std::string name = LastName(source.name);
  H5ZARR_ASSIGN_OR_RETURN(const Snapshot parent, ReadParent(refs, name));
  H5ZARR_RETURN_IF_ERROR(TagAgain(parent, &refs, &report));
  Snapshot meta;
  meta.parent = parent.id;
  // Icechunk refuses commits that are older than what they follow.
  meta.flushed_at_us = std::max(NowMicroseconds(), parent.flushed_at_us + 1);
  meta.message = name;
  H5ZARR_ASSIGN_OR_RETURN(const std::string tag, NewTag(refs, options, meta.flushed_at_us));
  const std::optional<std::string> stamp = StampOfSource(source);
  if (stamp && Item(parent, kStampItem) == *stamp) {
    report.was_read = false;
    return report;
  }
  meta.metadata = {{kSourceItem, name}, {kTagItem, tag}};
  PackWriter packs(&behind, &report.written);
  H5ZARR_RETURN_IF_ERROR(packs.LoadTrailers());
  NewSnapshot snapshot(&objects, &packs, &report.written);
  H5ZARR_ASSIGN_OR_RETURN(const bool is_all_of_source, CopyInto(source, options, &snapshot));
  if (stamp && is_all_of_source && StampOfSource(source) == stamp) meta.metadata[kStampItem] = *stamp;
  H5ZARR_ASSIGN_OR_RETURN(const std::optional<ObjectId> id, snapshot.Finish(parent, std::move(meta)));
  H5ZARR_RETURN_IF_ERROR(behind.Flush());
  report.chunks_added = packs.chunks_added();
  report.chunk_bytes_added = packs.chunk_bytes_added();
  if (id) H5ZARR_RETURN_IF_ERROR(Show(parent, *id, tag, &refs, &report));
  return report;
}

}  // namespace h5zarr::mirror
