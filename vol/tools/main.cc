// The command `h5zarr`.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "tools/command.h"

namespace {

constexpr char kHelp[] =
    "usage: h5zarr COMMAND …\n"
    "\n"
    "  mirror    versions of a versioned-hdf5 file into an Icechunk repository\n"
    "\n"
    "  --help, COMMAND --help    what is there, what a command does\n"
    "  --version\n";

int Run(const std::vector<std::string>& arguments) {
  const std::string command = arguments.empty() ? "" : arguments[0];
  if (command == "--help" || command == "help") {
    std::fputs(kHelp, stdout);
    return h5zarr::tools::kDone;
  }
  if (command == "--version") {
    std::puts("h5zarr " H5ZARR_VERSION);
    return h5zarr::tools::kDone;
  }
  if (command == "mirror") {
    return h5zarr::tools::RunMirror({arguments.begin() + 1, arguments.end()});
  }
  return h5zarr::tools::Misused(
      command.empty() ? "which command?" : "there is no command '" + command + "'", kHelp);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return Run({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "h5zarr: %s\n", error.what());
    return h5zarr::tools::kFailed;
  }
}
