#include "tools/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace h5zarr::tools {
namespace {

constexpr auto kBetween = std::chrono::milliseconds(100);
constexpr uint64_t kBarCells = 24;

}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::Show(uint64_t done, uint64_t all, const std::string& what) {
  if (quiet_ || !terminal_) return;
  const auto now = std::chrono::steady_clock::now();
  if (drawn_ && now - last_ < kBetween) return;
  last_ = now;
  drawn_ = true;
  const double part = all == 0 ? 1 : static_cast<double>(std::min(done, all)) / static_cast<double>(all);
  std::string bar(static_cast<std::size_t>(part * kBarCells), '#');
  bar.resize(kBarCells, '.');
  std::fprintf(stderr, "\r\033[K[%s] %3.0f%% %.*s", bar.c_str(), part * 100, 45, what.c_str());
  std::fflush(stderr);
}

void Progress::Clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  drawn_ = false;
}

void Progress::Line(const std::string& text) {
  if (quiet_) return;
  Clear();
  std::fprintf(stderr, "%s\n", text.c_str());
}

}  // namespace h5zarr::tools
