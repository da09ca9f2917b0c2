// The command `h5zarr`.
#include <malloc.h>

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/hdf5_files.h"

namespace h5zarr::tools {
namespace {

constexpr char kHelp[] =
    "usage: h5zarr COMMAND …\n"
    "\n"
    "  info      what is in an HDF5 file or a Zarr store\n"
    "  verify    read all of one, and compare it with its checksums\n"
    "  diff      what is not the same in two of them\n"
    "  export    make a plain Zarr store of one, or of one version of it\n"
    "  import    make a plain HDF5 file of a Zarr store\n"
    "  mirror    history of a file or store, in an Icechunk repository\n"
    "  doctor    whether the plugin works with the HDF5 programs of this machine\n"
    "\n"
    "  COMMAND --help    what a command does\n"
    "  --version\n";

struct Command {
  const char* name;
  const char* help;
  std::set<std::string> with_value;
  std::set<std::string> flags;
  int (*run)(const Words& words);
};

std::vector<Command> Commands() {
  return {
      {"info", kInfoHelp, {}, {"json"}, RunInfo},
      {"verify", kVerifyHelp, {}, {"quiet", "json"}, RunVerify},
      {"diff", kDiffHelp, {}, {"quiet", "json"}, RunDiff},
      {"export", kExportHelp, {"shard", "codec", "threads"}, {"quiet", "json"}, RunExport},
      {"import", kImportHelp, {"codec", "threads"}, {"quiet", "json"}, RunImport},
      {"mirror",
       kMirrorHelp,
       {"since", "codec", "prune", "tag", "threads"},
       {"all", "verify", "quiet", "json"},
       RunMirror},
      {"doctor", kDoctorHelp, {}, {}, RunDoctor},
  };
}

int RunCommand(const Command& command, const std::vector<std::string>& arguments) {
  std::set<std::string> flags = command.flags;
  flags.insert("help");
  const auto words = ParseWords(arguments, command.with_value, flags);
  if (!words.ok()) return Misused(words.status().message(), command.help);
  if (words->has("help")) {
    std::fputs(command.help, stdout);
    return kDone;
  }
  const Status bound = BindHdf5();
  return bound.ok() ? command.run(*words) : Fail(bound);
}

int Run(const std::vector<std::string>& arguments) {
  const std::string name = arguments.empty() ? "" : arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    std::fputs(kHelp, stdout);
    return kDone;
  }
  if (name == "--version") {
    std::puts("h5zarr " H5ZARR_VERSION);
    return kDone;
  }
  for (const Command& command : Commands()) {
    if (name == command.name) return RunCommand(command, {arguments.begin() + 1, arguments.end()});
  }
  return Misused(name.empty() ? "which command?" : "there is no command '" + name + "'", kHelp);
}

}  // namespace
}  // namespace h5zarr::tools

int main(int argc, char** argv) {
  // What HDF5 gives back it soon wants again: to fetch it from the kernel anew took a quarter of a mirror's time.
  // Packs and pieces of datasets are no part of that: among the rest they would leave holes that nothing else fits
  // into.
  mallopt(M_MMAP_THRESHOLD, 8 << 20);
  mallopt(M_TRIM_THRESHOLD, 64 << 20);
  mallopt(M_TOP_PAD, 16 << 20);
  try {
    return h5zarr::tools::Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "h5zarr: %s\n", error.what());
    return h5zarr::tools::kFailed;
  }
}
