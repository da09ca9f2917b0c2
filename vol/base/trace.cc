#include "base/trace.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace h5zarr {
namespace {

std::atomic<int> trace_level = 0;

}  // namespace

void RaiseTraceLevel(TraceLevel level) {
  int now = trace_level.load(std::memory_order_relaxed);
  while (now < static_cast<int>(level) && !trace_level.compare_exchange_weak(now, static_cast<int>(level))) {
  }
}

bool Tracing(TraceLevel level) { return trace_level.load(std::memory_order_relaxed) >= static_cast<int>(level); }

void Trace(std::string_view line) {
  std::string text = "h5zarr: ";
  text += line;
  text += '\n';
  // A line that cannot be printed has no place to go.
  [[maybe_unused]] const ssize_t put = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace h5zarr
