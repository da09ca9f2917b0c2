// Trace: what happens inside, a line each on stderr, for a user who asked for it with `trace=`:
//   1  decisions that nobody sees otherwise: a fallback, a retry
//   2  and what is asked of stores: a line for each batch, write and deletion
//   3  and each range of a batch
// Lines name keys, ranges, bytes and times; never a secret.
#ifndef H5ZARR_BASE_TRACE_H_
#define H5ZARR_BASE_TRACE_H_

#include <string_view>

namespace h5zarr {

enum class TraceLevel { kNone = 0, kDecisions = 1, kRequests = 2, kRanges = 3 };

// From now on everything up to `level` is printed, in the whole process; never less than what was
// asked for before. Thread-safe.
void RaiseTraceLevel(TraceLevel level);

// Whether lines of `level` are printed: ask before a line is put together. Thread-safe.
bool Tracing(TraceLevel level);

// Prints "h5zarr: " and `line`, as one write, whatever the level. Thread-safe.
void Trace(std::string_view line);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_TRACE_H_
