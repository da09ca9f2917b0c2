// `h5zarr verify`: reads everything, and so compares it with its checksums.
#include <hdf5.h>

#include <cstdio>

#include "base/config.h"
#include "h5/file_name.h"
#include "location/location.h"
#include "mirror/hdf5_read.h"
#include "mirror/object_tree.h"
#include "mirror/pieces.h"
#include "mirror/verify.h"
#include "store/url.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/hdf5_files.h"
#include "tools/progress.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using mirror::Box;
using mirror::Elements;
using mirror::Hdf5Error;
using mirror::Pieces;
using mirror::TreeEntry;
using mirror::VisitTree;
using Kind = TreeEntry::Kind;

class Verifier {
 public:
  explicit Verifier(bool quiet) : progress_(quiet) {}

  Status Do(const OpenedFile& opened) {
    return VisitTree(opened.root.get(), [this](const TreeEntry& entry) {
      Check(entry);
      return OkStatus();
    });
  }

  uint64_t objects = 0;
  uint64_t bytes = 0;
  std::vector<std::string> problems;

 private:
  void Note(const std::string& path, const Status& status) {
    if (!status.ok()) problems.push_back(path + ": " + status.message());
  }

  void Check(const TreeEntry& entry) {
    if (entry.kind == Kind::kUnreadable) Note(entry.path, entry.problem);
    if (!entry.object.valid() || entry.kind == Kind::kSameObject) return;
    ++objects;
    CheckAttributes(entry);
    if (entry.kind == Kind::kDataset) Note(entry.path, CheckElements(entry));
  }

  void CheckAttributes(const TreeEntry& entry) {
    const auto names = mirror::AttributeNames(entry.object.get());
    Note(entry.path, names.status());
    if (!names.ok()) return;
    for (const std::string& name : *names) {
      Note(entry.path, mirror::ReadAttribute(entry.object.get(), name).status());
    }
  }

  Status CheckElements(const TreeEntry& entry) {
    const hid_t dataset = entry.object.get();
    const Handle type(H5Dget_type(dataset));
    if (!type.valid()) return Hdf5Error("its type");
    H5ZARR_ASSIGN_OR_RETURN(const Pieces pieces, Pieces::Of(dataset));
    for (uint64_t i = pieces.NextStored(0); i < pieces.size(); i = pieces.NextStored(i + 1)) {
      progress_.Show(i, pieces.size(), entry.path);
      const Box piece = pieces.At(i);
      if (CheckBox(dataset, piece, type.get()).ok()) continue;
      // Which of its chunks it is: the others are still looked at.
      for (const Box& chunk : pieces.ChunksOf(piece)) {
        Note(entry.path, CheckBox(dataset, chunk, type.get()));
      }
    }
    return OkStatus();
  }

  Status CheckBox(hid_t dataset, const Box& box, hid_t type) {
    const auto elements = Elements::Read(dataset, box, type);
    if (!elements.ok()) return elements.status();
    bytes += elements->size_bytes();
    return OkStatus();
  }

  Progress progress_;
};

// A repository has more than the version that is looked into: all of it must be whole.
Status VerifyWholeRepository(const std::string& name) {
  if (IsHttpUrl(name)) return OkStatus();  // it cannot be listed
  Config config;
  H5ZARR_RETURN_IF_ERROR(config.ApplyEnvironment());
  const std::string path = ParseFileName(name.c_str()).path;
  std::optional<IcechunkLocation> found;
  if (IsS3Url(path)) {
    H5ZARR_ASSIGN_OR_RETURN(found, FindRemoteIcechunk(path, config));
  } else {
    found = FindIcechunk(path);
  }
  if (!found || !found->version.empty() || !found->node_path.empty()) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<Store> store, OpenPlace(found->repository, false, config));
  return mirror::VerifyRepository(store.get()).status();
}

}  // namespace

const char kVerifyHelp[] =
    "usage: h5zarr verify PATH [--quiet] [--json]\n"
    "\n"
    "Reads every attribute and every stored chunk of an HDF5 file, a Zarr store or a version of one, so\n"
    "that every checksum is compared and every chunk decoded; of an Icechunk repository also all objects\n"
    "that its versions need. Says what is damaged, and goes on.\n"
    "\n"
    "  --quiet    say nothing but what is damaged\n"
    "  --json     say it in JSON\n"
    "\n"
    "exit codes: 0 all is whole; 4 something is damaged, or cannot be read; 64 wrong usage\n";

int RunVerify(const Words& words) {
  if (words.operands.size() != 1) return Misused("one name is needed", kVerifyHelp);
  const bool as_json = words.has("json"), quiet = words.has("quiet") || as_json;
  const auto opened = OpenAny(words.operands[0]);
  if (!opened.ok()) return Fail(opened.status());
  Verifier verifier(quiet);
  const Status repository = VerifyWholeRepository(words.operands[0]);
  if (!repository.ok()) verifier.problems.push_back(repository.message());
  const Status walked = verifier.Do(*opened);
  if (!walked.ok()) verifier.problems.push_back(walked.message());
  if (as_json) {
    zarr::Json json;
    json["objects"] = verifier.objects;
    json["bytes"] = verifier.bytes;
    json["problems"] = verifier.problems;
    std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  } else {
    for (const std::string& problem : verifier.problems) {
      std::fprintf(stderr, "h5zarr: %s\n", problem.c_str());
    }
    if (!quiet) {
      std::printf("%llu objects, %s read: %s\n", static_cast<unsigned long long>(verifier.objects),
                  BytesText(verifier.bytes).c_str(), verifier.problems.empty() ? "all as it should be" : "DAMAGED");
    }
  }
  return verifier.problems.empty() ? kDone : kFailed;
}

}  // namespace h5zarr::tools
