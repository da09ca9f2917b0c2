// What the subcommands of `h5zarr` share: words, exit codes, output.
#ifndef H5ZARR_TOOLS_COMMAND_H_
#define H5ZARR_TOOLS_COMMAND_H_

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace h5zarr::tools {

// Documented in the manual page: scripts go by them.
enum ExitCode {
  kDone = 0,
  kDiffers = 1,      // of a comparison: not the same
  kUncommitted = 2,  // done, but the source has a version whose writer did not come to its end
  kFailed = 4,
  kWrongUsage = 64,
};

// The words behind a subcommand, taken apart.
struct Words {
  std::vector<std::string> operands;
  std::map<std::string, std::string> values;  // of "--name value" and "--name=value"
  std::set<std::string> flags;                // "--name" alone

  bool has(const std::string& flag) const { return flags.contains(flag); }
  // The value of an option, or `otherwise`.
  std::string value(const std::string& name, const std::string& otherwise = "") const;
};

// kInvalidArgument for an option that is neither among `with_value` nor `flags`, and for a missing
// value. "-h" is the flag "help"; what follows "--" is operands.
Result<Words> ParseWords(const std::vector<std::string>& arguments, const std::set<std::string>& with_value,
                         const std::set<std::string>& flags);

// Says on stderr what went wrong, and returns kFailed.
int Fail(const Status& status);
// Says what is wrong with the words, and how they should be; returns kWrongUsage.
int Misused(const std::string& what, const char* usage);

// The subcommands. Each has its words taken apart (main.cc says which it knows) and HDF5 bound.
int RunMirror(const Words& words);
int RunInfo(const Words& words);
int RunVerify(const Words& words);
int RunDoctor(const Words& words);
int RunExport(const Words& words);
int RunImport(const Words& words);
int RunDiff(const Words& words);
extern const char kMirrorHelp[];
extern const char kInfoHelp[];
extern const char kVerifyHelp[];
extern const char kDoctorHelp[];
extern const char kExportHelp[];
extern const char kImportHelp[];
extern const char kDiffHelp[];

// What --threads says, for the connector.
std::string ThreadsOf(const Words& words);

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_COMMAND_H_
