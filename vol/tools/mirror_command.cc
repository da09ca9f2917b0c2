// `h5zarr mirror`: versions of a versioned-hdf5 file, or states of any file or store, into an Icechunk
// repository.
#include <hdf5.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "base/config.h"
#include "host/handle.h"
#include "icechunk/repository.h"
#include "mirror/collect_garbage.h"
#include "mirror/mirror.h"
#include "mirror/open_place.h"
#include "mirror/update_mirror.h"
#include "mirror/verify.h"
#include "store/temp_name.h"
#include "store/url.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/hdf5_files.h"
#include "tools/mirror_report.h"
#include "tools/mirror_state_command.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using zarr::Json;

Result<std::string> AbsolutePath(const std::string& path) {
  if (IsRemoteName(path) || path.starts_with('/')) return path;
  if (path.find("://") != std::string::npos) {
    return UnsupportedError("'" + path + "': folders, and buckets (s3://), can hold a mirror");
  }
  char folder[PATH_MAX];
  if (getcwd(folder, sizeof folder) == nullptr) return ErrnoError(errno, "the working folder");
  return std::string(folder) + "/" + path;
}

Result<std::unique_ptr<Store>> OpenFolder(const std::string& path, bool read_only) {
  H5ZARR_ASSIGN_OR_RETURN(const std::string absolute, AbsolutePath(path));
  Config config;
  H5ZARR_RETURN_IF_ERROR(config.ApplyEnvironment());
  return mirror::OpenMirrorPlace(absolute, !read_only, config);
}

Json ReportJson(const mirror::MirrorReport& report) {
  Json json;
  json["versions"] = report.versions;
  json["added"] = report.added;
  json["uncommitted"] = report.uncommitted;
  json["gone"] = report.gone;
  json["gone_were_deleted"] = report.gone_were_deleted;
  json["main_kept"] = report.main_kept;
  return json;
}

std::string ReportText(const mirror::MirrorReport& report) {
  std::string text = std::to_string(report.added) + " of " + std::to_string(report.versions) +
                     " versions added: " + CountsText(report) + "\n";
  for (const std::string& tag : report.gone) {
    text += std::string(report.gone_were_deleted ? "deleted" : "kept") + ": '" + tag + "' is no longer in the file\n";
  }
  if (report.main_kept) text += "branch \"main\" has commits of others and stays where it is\n";
  return text;
}

// kInvalidArgument, with what is to be said, where the words make no sense.
Result<mirror::MirrorOptions> OptionsOf(const Words& words) {
  mirror::MirrorOptions options;
  const std::string codec = words.value("codec", "passthrough");
  if (codec == "portable") {
    options.encoding = mirror::Encoding::kPortable;
  } else if (codec != "passthrough") {
    return InvalidArgumentError("--codec is passthrough or portable, not '" + codec + "'");
  }
  options.since = words.value("since");
  const std::string prune = words.value("prune", "keep");
  if (prune != "keep" && prune != "delete") {
    return InvalidArgumentError("--prune is keep or delete, not '" + prune + "'");
  }
  options.delete_gone = prune == "delete";
  Config config;
  H5ZARR_RETURN_IF_ERROR(config.Apply(ThreadsOf(words)));
  options.threads = config.threads;
  return options;
}

int MirrorVersions(const Words& words, mirror::MirrorOptions options) {
  const bool quiet = words.has("quiet") || words.has("json");
  const bool terminal = isatty(STDERR_FILENO) == 1;
  if (!quiet) {
    options.progress = [terminal](const mirror::Version& version, std::size_t done, std::size_t all) {
      std::fprintf(stderr, "%s[%zu/%zu] %s%s", terminal ? "\r\033[K" : "", done, all, version.name.c_str(),
                   terminal && done < all ? "" : "\n");
    };
  }
  const auto file = OpenNative(words.operands[0]);
  if (!file.ok()) return Fail(file.status());
  const auto store = OpenFolder(words.operands[1], false);
  if (!store.ok()) return Fail(store.status());
  const auto report = mirror::Mirror(file->get(), store->get(), options);
  if (!report.ok()) return Fail(report.status().WithContext("'" + words.operands[0] + "'"));
  const Status told = FinishMirror(store->get(), words, *report, ReportJson(*report), ReportText(*report));
  if (!told.ok()) return Fail(told);
  for (const std::string& name : report->uncommitted) {
    std::fprintf(stderr, "h5zarr: version '%s' was never committed: left out\n", name.c_str());
  }
  return report->uncommitted.empty() ? kDone : kUncommitted;
}

// A repository of others may have no tags either: it is none of ours.
Status NothingMirrored(const Store& store) {
  return NotFoundError(store.Describe() + " has no version in it that was mirrored");
}

Status PrintStatus(Store* store, bool as_json) {
  H5ZARR_ASSIGN_OR_RETURN(const icechunk::Repository repository, icechunk::Repository::Open(store));
  H5ZARR_ASSIGN_OR_RETURN(const auto tags, repository.Tags());
  H5ZARR_ASSIGN_OR_RETURN(const auto main, repository.FindBranch(icechunk::kMainBranch));
  if (tags.empty()) return NothingMirrored(*store);
  Json json;
  json["main"] = main ? Json(icechunk::ToText(*main)) : Json();
  json["tags"] = Json::object();
  for (const auto& [name, id] : tags) {
    H5ZARR_ASSIGN_OR_RETURN(const icechunk::Snapshot snapshot, repository.ReadSnapshot(id));
    json["tags"][name] = {
        {"snapshot", icechunk::ToText(id)}, {"nodes", snapshot.nodes.size()}, {"message", snapshot.message}};
    if (as_json) continue;
    std::printf("%s %s  %zu nodes  %s\n", main == id ? "*" : " ", icechunk::ToText(id).c_str(), snapshot.nodes.size(),
                name.c_str());
  }
  if (as_json) std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  return OkStatus();
}

// What killed runs left of objects that they did not finish. Young ones may be somebody's who is at work.
uint64_t RemoveUnfinished(const std::string& folder) {
  namespace fs = std::filesystem;
  constexpr auto kOld = std::chrono::hours(1);
  uint64_t removed = 0;
  std::error_code ignored;
  const auto now = fs::file_time_type::clock::now();
  for (fs::recursive_directory_iterator at(folder, ignored), end; at != end; at.increment(ignored)) {
    if (!IsTempName(at->path().filename().string()) || !at->is_regular_file(ignored)) continue;
    if (now - at->last_write_time(ignored) < kOld) continue;
    if (fs::remove(at->path(), ignored)) ++removed;
  }
  return removed;
}

int Collect(const std::string& path, const Words& words) {
  const auto store = OpenFolder(path, false);
  if (!store.ok()) return Fail(store.status());
  const auto report = mirror::CollectGarbage(store->get());
  if (!report.ok()) return Fail(report.status());
  const uint64_t unfinished = RemoveUnfinished(path);
  if (words.has("json")) {
    Json json;
    json["objects_removed"] = report->objects;
    json["bytes_removed"] = report->bytes;
    json["unfinished_removed"] = unfinished;
    json["foreign_kept"] = report->foreign;
    std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  } else if (!words.has("quiet")) {
    std::printf("%llu objects removed, %s; %llu unfinished ones\n", static_cast<unsigned long long>(report->objects),
                BytesText(report->bytes).c_str(), static_cast<unsigned long long>(unfinished));
    if (report->foreign > 0) {
      std::printf("%llu objects that nothing leads to were written by others, and stay\n",
                  static_cast<unsigned long long>(report->foreign));
    }
  }
  return kDone;
}

int Mirror(const Words& words) {
  Result<mirror::MirrorOptions> options = OptionsOf(words);
  if (!options.ok()) return Misused(options.status().message(), kMirrorHelp);
  {
    const auto source = OpenAny(words.operands[0], ThreadsOf(words));
    if (!source.ok()) return Fail(source.status());
    const auto versioned = mirror::HasVersions(source->file.get());
    if (!versioned.ok()) return Fail(versioned.status());
    if (!*versioned || source->is_version) {
      const auto store = OpenFolder(words.operands[1], false);
      return store.ok() ? MirrorState(*source, store->get(), words) : Fail(store.status());
    }
  }
  if (!words.value("tag").empty()) return Misused("--tag: versions have their own names", kMirrorHelp);
  return MirrorVersions(words, std::move(*options));
}

int Inspect(const std::string& verb, const std::string& path, const Words& words) {
  const auto store = OpenFolder(path, true);
  if (!store.ok()) return Fail(store.status());
  if (verb == "status") {
    const Status status = PrintStatus(store->get(), words.has("json"));
    return status.ok() ? kDone : Fail(status);
  }
  const auto verified = mirror::VerifyRepository(store->get());
  if (!verified.ok()) return Fail(verified.status());
  if (verified->tags == 0) return Fail(NothingMirrored(**store));
  if (words.has("json")) {
    const Json json = {{"snapshots", verified->snapshots},
                       {"chunks", verified->chunks},
                       {"objects", verified->objects},
                       {"object_bytes", verified->object_bytes}};
    std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  } else if (!words.has("quiet")) {
    std::printf("%llu snapshots, %llu chunks in %llu objects, %llu bytes: all as they should be\n",
                static_cast<unsigned long long>(verified->snapshots), static_cast<unsigned long long>(verified->chunks),
                static_cast<unsigned long long>(verified->objects),
                static_cast<unsigned long long>(verified->object_bytes));
  }
  return kDone;
}

// An option that changes nothing would leave its user to believe that it did.
Status CheckOptions(const std::string& verb, const Words& words) {
  const auto refuse = [&verb](const std::string& option) {
    return InvalidArgumentError("--" + option + " is not for 'mirror " + verb + "'");
  };
  if (!words.values.empty()) return refuse(words.values.begin()->first);
  for (const std::string& flag : words.flags) {
    if (flag != "json" && (flag != "quiet" || verb == "status")) return refuse(flag);
  }
  return OkStatus();
}

}  // namespace

const char kMirrorHelp[] =
    "usage: h5zarr mirror FILE.h5 FOLDER [--all | --since VERSION] [--codec passthrough|portable]\n"
    "                     [--prune keep|delete] [--threads N] [--verify] [--quiet] [--json]\n"
    "       h5zarr mirror SOURCE FOLDER [--tag NAME] [--threads N] [--verify] [--quiet] [--json]\n"
    "       h5zarr mirror status FOLDER [--json]\n"
    "       h5zarr mirror verify FOLDER [--quiet] [--json]\n"
    "       h5zarr mirror gc FOLDER [--quiet] [--json]\n"
    "\n"
    "Brings every committed version of a versioned-hdf5 file into an Icechunk repository: a snapshot\n"
    "and a tag a version, chunks once whatever versions share them. Run again, it adds what is new;\n"
    "killed, it goes on where it was. Icechunk, zarr-python and xarray open the repository, and\n"
    "HDF5 programs under h5zarr: h5py.File(\"FOLDER@VERSION\"). FOLDER may be in S3: s3://bucket/name.\n"
    "\n"
    "Any other SOURCE, an HDF5 file or a Zarr store, gains a history: where it is not as the last\n"
    "snapshot has it, the run adds one, and its time as a tag (20260131T123000Z).\n"
    "\n"
    "  --since VERSION    leave out that version and older ones (default: all are mirrored)\n"
    "  --all              mirror all versions (the default)\n"
    "  --codec            passthrough: chunks as the file has them, where Zarr has codecs for that\n"
    "                     (default); portable: encoded anew, by codecs that every reader has\n"
    "  --prune            what becomes of versions that the file no longer has: keep (default) or delete.\n"
    "                     Icechunk gives a name no second time: a deleted one cannot be mirrored again\n"
    "  --threads N        how many read, encode and hash (default: those of this machine or container)\n"
    "  --tag NAME         the tag of the snapshot, where there is something new\n"
    "  --verify           afterwards, read everything and compare it with its checksums\n"
    "  --quiet, --json    say nothing; say it in JSON\n"
    "\n"
    "status says which versions are there; verify reads all of them and compares it with its checksums; gc\n"
    "removes what no branch and no tag leads to: what killed runs left, and what --prune delete let go of.\n"
    "\n"
    "exit codes: 0 done; 2 done, but a version was never committed; 4 failed; 64 wrong usage\n";

int RunMirror(const Words& words) {
  if (words.operands.size() != 2) return Misused("two names are needed", kMirrorHelp);
  if (words.has("all") && !words.value("since").empty()) {
    return Misused("--all and --since exclude each other", kMirrorHelp);
  }
  const std::string& verb = words.operands[0];
  if (verb == "status" || verb == "verify" || verb == "gc") {
    const Status options = CheckOptions(verb, words);
    if (!options.ok()) return Misused(options.message(), kMirrorHelp);
  }
  if (verb == "status" || verb == "verify") return Inspect(verb, words.operands[1], words);
  if (verb == "gc") return Collect(words.operands[1], words);
  return Mirror(words);
}

}  // namespace h5zarr::tools
