// `h5zarr export` and `h5zarr import`: a file or store as a plain Zarr store, or as a plain HDF5 file.
#include <fcntl.h>
#include <hdf5.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "base/config.h"
#include "mirror/copy_tree.h"
#include "tools/command.h"
#include "tools/describe.h"
#include "tools/hdf5_files.h"
#include "tools/interrupts.h"
#include "tools/progress.h"
#include "zarr/json.h"

namespace h5zarr::tools {
namespace {

using mirror::CopyOptions;
using mirror::CopyReport;
using mirror::CopyTree;
using mirror::CreationList;
namespace fs = std::filesystem;

// Made under this name, and renamed when it is whole: nobody takes half of it for all.
constexpr char kPartial[] = ".h5zarr-partial";

Status SyncFolder(const fs::path& folder) {
  const int fd = open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return ErrnoError(errno, "'" + folder.string() + "'");
  const int synced = fsync(fd);
  close(fd);
  return synced == 0 ? OkStatus() : ErrnoError(errno, "'" + folder.string() + "'");
}

class Target {
 public:
  // Nothing is renamed in S3: what is made there is seen while it grows.
  explicit Target(std::string name)
      : name_(std::move(name)), is_remote_(IsRemote(name_)), partial_(is_remote_ ? name_ : name_ + kPartial) {}
  ~Target() {
    if (!made_) return;
    std::error_code ignored;
    if (is_remote_) {
      RemoveStore(partial_);
    } else {
      fs::remove_all(partial_, ignored);
    }
  }

  // kAlreadyExists when something is there, whole or in part.
  Result<Handle> Create(const std::string& config, hid_t fcpl) {
    for (const std::string& path : {name_, partial_}) {
      struct stat info;
      if (is_remote_ || lstat(path.c_str(), &info) != 0) continue;
      return AlreadyExistsError("'" + path + "' is already there" +
                                (path == name_ ? ""
                                               : ": another run is at work, or was killed; "
                                                 "remove it if none is"));
    }
    H5ZARR_ASSIGN_OR_RETURN(Handle file, CreateFile(partial_, config, fcpl));
    made_ = true;
    return file;
  }

  Status Finish(Handle file) {
    H5ZARR_RETURN_IF_ERROR(CloseWritten(std::move(file), name_));
    if (is_remote_) {
      made_ = false;
      return OkStatus();
    }
    if (rename(partial_.c_str(), name_.c_str()) != 0) return ErrnoError(errno, "'" + name_ + "'");
    made_ = false;
    return SyncFolder(fs::path(name_).parent_path());
  }

 private:
  const std::string name_;
  const bool is_remote_;
  const std::string partial_;
  bool made_ = false;
};

void Report(const CopyReport& report, const std::string& name, const Words& words) {
  if (words.has("json")) {
    zarr::Json json;
    json["objects"] = report.objects;
    json["bytes"] = report.bytes;
    std::printf("%s\n", zarr::DumpJson(json, -1).c_str());
  } else if (!words.has("quiet")) {
    std::printf("%s: %llu objects and links, %s\n", name.c_str(), static_cast<unsigned long long>(report.objects),
                BytesText(report.bytes).c_str());
  }
}

int CopyFile(const Words& words, const std::string& config, CopyOptions options, const char* help) {
  const Status valid = options.config.Apply(config);
  if (!valid.ok()) return Misused(valid.message(), help);
  const std::string& name = words.operands[1];
  const CatchInterrupts interrupts;
  options.is_cancelled = CatchInterrupts::WasInterrupted;
  const auto copied = [&]() -> Result<CopyReport> {
    H5ZARR_ASSIGN_OR_RETURN(const OpenedFile from, OpenAny(words.operands[0], ThreadsOf(words)));
    Progress progress(words.has("quiet") || words.has("json"));
    options.progress = [&progress](uint64_t done, uint64_t all, const std::string& what) {
      progress.Show(done, all, what);
    };
    Target target(name);
    H5ZARR_ASSIGN_OR_RETURN(const Handle fcpl, CreationList(from));
    H5ZARR_ASSIGN_OR_RETURN(Handle file, target.Create(config, fcpl.get()));
    H5ZARR_ASSIGN_OR_RETURN(const CopyReport report, CopyTree(from, file.get(), options));
    progress.Show(1, 1, "storing");
    H5ZARR_RETURN_IF_ERROR(target.Finish(std::move(file)));
    return report;
  }();
  if (CatchInterrupts::WasInterrupted()) interrupts.Die();
  if (!copied.ok()) return Fail(copied.status());
  Report(*copied, name, words);
  return kDone;
}

}  // namespace

const char kExportHelp[] =
    "usage: h5zarr export SOURCE[@VERSION] STORE.zarr [--shard BYTES|auto] [--codec CODEC]\n"
    "                     [--threads N] [--quiet] [--json]\n"
    "\n"
    "Makes a plain Zarr v3 store of an HDF5 file, of one version of a versioned-hdf5 file (FILE.h5@VERSION)\n"
    "or of an Icechunk repository (FOLDER@VERSION), or of another store. Any reader of Zarr opens it.\n"
    "Chunks are copied as they are where file and store keep the same bytes, and else decoded and encoded\n"
    "by several threads. Virtual datasets become plain ones. STORE.zarr must not be there yet; it appears\n"
    "when it is whole (in S3, s3://BUCKET/STORE.zarr, it is seen while it grows).\n"
    "\n"
    "  --shard    gather chunks in shards of about so many bytes (16MiB; auto: 64MiB)\n"
    "  --codec    filters: what the file's filters say (default); none, gzip, zstd or blosc: encode\n"
    "             everything so; a level may follow (zstd:9)\n"
    "  --threads  how many (default: those of this machine, or of the container)\n"
    "\n"
    "exit codes: 0 done; 4 failed, and nothing is left; 64 wrong usage\n";

const char kImportHelp[] =
    "usage: h5zarr import STORE.zarr FILE.h5 [--codec plain|filters] [--threads N] [--quiet] [--json]\n"
    "\n"
    "Makes a plain HDF5 file of a Zarr store (v2 or v3, in a folder, on a web server, a version of an\n"
    "Icechunk repository, a reference file). Programs read it without any plugin. Virtual datasets become\n"
    "plain ones. FILE.h5 must not be there yet; it appears when it is whole.\n"
    "\n"
    "  --codec    plain: chunks of codecs that HDF5 itself lacks, and shards, become shuffle and deflate\n"
    "             (default); filters: they are kept, and readers need plugins for them\n"
    "  --threads  how many (default: those of this machine, or of the container)\n"
    "\n"
    "exit codes: 0 done; 4 failed, and nothing is left; 64 wrong usage\n";

int RunExport(const Words& words) {
  if (words.operands.size() != 2) return Misused("two names are needed", kExportHelp);
  const std::string config = "create=zarr;durable=1;shard=" + words.value("shard", "off") +
                             ";codec=" + words.value("codec", "filters") + ";" + ThreadsOf(words);
  CopyOptions options;
  options.to_store = true;
  return CopyFile(words, config, options, kExportHelp);
}

int RunImport(const Words& words) {
  if (words.operands.size() != 2) return Misused("two names are needed", kImportHelp);
  const std::string codec = words.value("codec", "plain");
  if (codec != "plain" && codec != "filters") {
    return Misused("--codec is plain or filters, not '" + codec + "'", kImportHelp);
  }
  if (IsRemote(words.operands[1])) return Misused("an HDF5 file can only be made on this machine", kImportHelp);
  if (words.operands[1].ends_with(".zarr")) {
    return Misused("'" + words.operands[1] +
                       "' would be an HDF5 file with the name of a Zarr store; h5zarr "
                       "export makes stores",
                   kImportHelp);
  }
  CopyOptions options;
  options.only_filters_of_hdf5 = codec == "plain";
  return CopyFile(words, "create=native;" + ThreadsOf(words), options, kImportHelp);
}

}  // namespace h5zarr::tools
