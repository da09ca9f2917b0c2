// `h5zarr doctor`: whether the plugin works here, and if not, why.
#include <dlfcn.h>
#include <hdf5.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "tools/command.h"
#include "tools/hdf5_files.h"

namespace h5zarr::tools {
namespace {

namespace fs = std::filesystem;

constexpr char kPlugin[] = "libh5zarr.so";
constexpr std::string_view kWithoutConnector = "env -u HDF5_VOL_CONNECTOR ";

std::string Variable(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr ? value : "";
}

// `text` as one word of a shell.
std::string Quoted(const std::string& text) {
  std::string quoted = "'";
  for (const char c : text) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

struct Outcome {
  int code = 0;
  std::string text;  // both outputs, without the last end of line
};

Outcome RunShell(const std::string& command) {
  Outcome outcome;
  std::FILE* const pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "it cannot be started"};
  std::array<char, 4096> block;
  while (const std::size_t bytes = std::fread(block.data(), 1, block.size(), pipe)) {
    outcome.text.append(block.data(), bytes);
  }
  const int status = pclose(pipe);
  outcome.code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  while (outcome.text.ends_with('\n')) outcome.text.pop_back();
  return outcome;
}

// A folder of its own, removed with what is in it.
class Scratch {
 public:
  Scratch() {
    std::string pattern = (fs::temp_directory_path() / "h5zarr-doctor-XXXXXX").string();
    if (mkdtemp(pattern.data()) != nullptr) path_ = pattern;
  }
  ~Scratch() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

class Doctor {
 public:
  int Examine() {
    Scratch scratch;
    if (scratch.path().empty()) return Fail(InternalError("no temporary folder can be made"));
    Say(true, "this command", "h5zarr " H5ZARR_VERSION ", with HDF5 " + LinkedVersion());
    CheckSettings();
    FindPlugin();
    CheckRoundTrip(scratch.path());
    CheckPrograms(scratch.path());
    if (problems_ > 0) {
      std::puts("\nSomething is wrong: see above.");
      return kFailed;
    }
    if (not_found_.empty()) {
      std::puts("\nAll is well.");
    } else {
      std::printf("\nNothing is wrong with what was tried; not found, and not tried: %s.\n", not_found_.c_str());
    }
    return kDone;
  }

 private:
  void Say(bool good, const std::string& what, const std::string& text) {
    std::printf("%-7s %s: %s\n", good ? "ok" : "WRONG", what.c_str(), text.c_str());
    if (!good) ++problems_;
  }
  static void Note(const std::string& what, const std::string& text) {
    std::printf("%-7s %s: %s\n", "note", what.c_str(), text.c_str());
  }

  void NotFound(const std::string& what, const std::string& text) {
    Note(what, text);
    not_found_ += (not_found_.empty() ? "" : ", ") + what;
  }

  static std::string LinkedVersion() {
    unsigned major = 0, minor = 0, release = 0;
    H5get_libversion(&major, &minor, &release);
    return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(release);
  }

  void CheckSettings() {
    Config config;
    const Status environment = config.ApplyEnvironment();
    if (!environment.ok()) Say(false, "H5ZARR_…", environment.message());
    const std::string connector = Variable("HDF5_VOL_CONNECTOR");
    if (connector.empty()) {
      Note("HDF5_VOL_CONNECTOR", "not set: programs see Zarr stores only where it says zarr");
      return;
    }
    if (connector != "zarr" && !connector.starts_with("zarr ")) {
      Say(false, "HDF5_VOL_CONNECTOR", "is '" + connector + "', not zarr");
      return;
    }
    const Status applied = config.Apply(connector.substr(4));
    Say(applied.ok(), "HDF5_VOL_CONNECTOR", applied.ok() ? connector : applied.message());
  }

  // Where HDF5 would find it: the folders of HDF5_PLUGIN_PATH, or the default one.
  void FindPlugin() {
    std::string path = Variable("HDF5_PLUGIN_PATH");
    if (path.empty()) {
      path = "/usr/local/hdf5/lib/plugin";
      Note("HDF5_PLUGIN_PATH", "not set: HDF5 of wheels and own builds looks in " + path);
    }
    for (std::size_t begin = 0; begin <= path.size();) {
      const std::size_t end = std::min(path.find(':', begin), path.size());
      const std::string file = path.substr(begin, end - begin) + "/" + kPlugin;
      std::error_code ignored;
      if (end > begin && fs::exists(file, ignored) && plugin_.empty()) plugin_ = file;
      begin = end + 1;
    }
    if (plugin_.empty()) {
      Say(false, "plugin", std::string(kPlugin) + " is not in " + path);
      return;
    }
    const bool loads = dlopen(plugin_.c_str(), RTLD_NOW | RTLD_LOCAL) != nullptr;
    Say(loads, "plugin", loads ? plugin_ : plugin_ + " does not load: " + dlerror());
  }

  void CheckRoundTrip(const std::string& folder) {
    const std::string name = folder + "/command.zarr";
    const Status done = [&]() -> Status {
      H5ZARR_ASSIGN_OR_RETURN(Handle file, CreateFile(name, "create=zarr", H5P_DEFAULT));
      const hsize_t extent = 3;
      const int written[3] = {4, 7, 11};
      const Handle space(H5Screate_simple(1, &extent, nullptr));
      Handle dataset(H5Dcreate2(file.get(), "x", H5T_NATIVE_INT, space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
      if (H5Dwrite(dataset.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, written) < 0) {
        return InternalError("the dataset cannot be written");
      }
      dataset.Reset();
      H5ZARR_RETURN_IF_ERROR(CloseWritten(std::move(file), name));
      H5ZARR_ASSIGN_OR_RETURN(const OpenedFile again, OpenAny(name));
      int read[3] = {};
      const Handle found(H5Dopen2(again.root.get(), "x", H5P_DEFAULT));
      if (H5Dread(found.get(), H5T_NATIVE_INT, H5S_ALL, H5S_ALL, H5P_DEFAULT, read) < 0 || read[2] != 11) {
        return InternalError("what was written is not what is read");
      }
      return OkStatus();
    }();
    Say(done.ok(), "round trip", done.ok() ? "a store was written and read" : done.message());
  }

  // Programs of this machine, as their users start them, but with the two variables.
  void CheckPrograms(const std::string& folder) {
    if (plugin_.empty()) return;
    under_plugin_ =
        "HDF5_VOL_CONNECTOR=zarr HDF5_PLUGIN_PATH=" + Quoted(fs::path(plugin_).parent_path().string()) + " ";
    const std::string python = Variable("H5ZARR_PYTHON");
    CheckH5py(folder, Quoted(python.empty() ? "python3" : python));
    for (const std::string tool : {"h5dump", "h5ls"}) {
      const Outcome version = RunShell(std::string(kWithoutConnector) + tool + " --version");
      if (version.code != 0) {
        NotFound(tool, "not found");
        continue;
      }
      const Outcome done = RunShell(under_plugin_ + tool + " " + Quoted(folder + "/command.zarr"));
      Say(done.code == 0, version.text, done.code == 0 ? "reads stores" : done.text);
    }
  }

  void CheckH5py(const std::string& folder, const std::string& python) {
    constexpr char kVersion[] = "import h5py; print(h5py.version.version, 'with HDF5', h5py.version.hdf5_version)";
    constexpr char kRoundTrip[] =
        "import h5py, sys\n"
        "assert list(h5py.File(sys.argv[1])['x']) == [4, 7, 11]\n"
        "with h5py.File(sys.argv[2], 'w') as f: f['y'] = 1";
    const Outcome version = RunShell(std::string(kWithoutConnector) + python + " -c " + Quoted(kVersion));
    if (version.code != 0) {
      NotFound("h5py", "not found for " + python);
      return;
    }
    const std::string written = folder + "/h5py.zarr";
    const Outcome done = RunShell(under_plugin_ + python + " -c " + Quoted(kRoundTrip) + " " +
                                  Quoted(folder + "/command.zarr") + " " + Quoted(written));
    const bool is_store = fs::exists(written + "/zarr.json");
    Say(done.code == 0 && is_store, "h5py " + version.text,
        done.code != 0 ? done.text
        : is_store     ? "reads and writes stores"
                       : "wrote no store");
  }

  std::string plugin_;
  std::string under_plugin_;  // what a shell sets for programs
  std::string not_found_;     // programs, for the last line
  int problems_ = 0;
};

}  // namespace

const char kDoctorHelp[] =
    "usage: h5zarr doctor\n"
    "\n"
    "Looks at the settings, finds the plugin and loads it, writes and reads a store, and lets h5py and\n"
    "HDF5's tools do the same where they are found (H5ZARR_PYTHON names another Python than python3).\n"
    "\n"
    "exit codes: 0 nothing is wrong; 4 something is wrong; 64 wrong usage\n";

int RunDoctor(const Words& words) {
  if (!words.operands.empty()) return Misused("it takes no names", kDoctorHelp);
  return Doctor().Examine();
}

}  // namespace h5zarr::tools
