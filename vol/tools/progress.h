// How far a command is: a bar on a terminal, plain lines elsewhere, nothing where it is to be quiet. Always
// on stderr: what a command answers goes to stdout.
#ifndef H5ZARR_TOOLS_PROGRESS_H_
#define H5ZARR_TOOLS_PROGRESS_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace h5zarr::tools {

class Progress {
 public:
  explicit Progress(bool quiet);
  ~Progress() { Clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Work that is going on: drawn on a terminal, a few times a second.
  void Show(uint64_t done, uint64_t all, const std::string& what);
  // Something that is finished, or was found: a line of its own everywhere.
  void Line(const std::string& text);
  void Clear();

 private:
  const bool quiet_;
  const bool terminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_;
};

}  // namespace h5zarr::tools

#endif  // H5ZARR_TOOLS_PROGRESS_H_
