#include "store/temp_name.h"

#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace h5zarr {
namespace {

constexpr std::string_view kPrefix = ".h5zarr-";
constexpr std::string_view kSuffix = ".tmp";

std::atomic<uint64_t> next_number{0};

bool IsNumber(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

}  // namespace

std::string NextTempName() {
  uint64_t number = next_number.fetch_add(1, std::memory_order_relaxed);
  if (number == 0) {
    // Begins elsewhere in every process, so that names left by a killed one are rarely met.
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    number = static_cast<uint64_t>(now.tv_sec) * 1'000'000 + now.tv_nsec / 1000;
    next_number.fetch_add(number, std::memory_order_relaxed);
  }
  std::string name(kPrefix);
  name += std::to_string(getpid());
  name += '-';
  name += std::to_string(number);
  name += kSuffix;
  return name;
}

bool IsTempName(std::string_view name) {
  if (name.substr(0, kPrefix.size()) != kPrefix) return false;
  name.remove_prefix(kPrefix.size());
  if (name.size() < kSuffix.size() || name.substr(name.size() - kSuffix.size()) != kSuffix) {
    return false;
  }
  name.remove_suffix(kSuffix.size());
  const std::size_t dash = name.find('-');
  return dash != std::string_view::npos && IsNumber(name.substr(0, dash)) && IsNumber(name.substr(dash + 1));
}

}  // namespace h5zarr
