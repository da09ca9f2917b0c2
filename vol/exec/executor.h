// Executor: runs independent pieces of work on the calling thread, on oneTBB, or — in a process
// that was forked from the one where the first Executor was made, or when more threads are asked
// for than oneTBB has — on a small pool of plain threads.
//
// It decides how many threads a piece of work is worth; it does no I/O and knows no array.
// Lower layers than store/ do not include it.
#ifndef H5ZARR_EXEC_EXECUTOR_H_
#define H5ZARR_EXEC_EXECUTOR_H_

#include <cstdint>
#include <functional>

#include "base/status.h"

namespace h5zarr {

// Work that costs less than this (an estimate, in nanoseconds) stays on the calling thread: waking
// a pool costs about as much.
inline constexpr double kSerialBelowNs = 100'000;

class Executor {
 public:
  // `threads`: how many may work at once, the caller included; 0 follows the CPUs this process may
  // use (affinity mask and container quota), read at the first parallel run. Starts no thread.
  explicit Executor(int threads = 0);
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;
  ~Executor();

  // Runs task(i) for every i in [0, count), in any order, possibly at once; returns when all are
  // done or the first failure was seen (tasks not yet started are then skipped) and returns that
  // failure. An exception from a task becomes kInternal (std::bad_alloc: kNoSpace). `cost_ns` is an
  // estimate of the work of *all* tasks: under kSerialBelowNs, or when SetSerial(true), or with one
  // thread, everything runs on the calling thread in order. Blocks; may be called from several
  // threads, and from within a task of a parallel run (then everything runs on that task's thread).
  Status ParallelFor(std::size_t count, double cost_ns, const std::function<Status(std::size_t)>& task);

  // How many threads a parallel run would use at most (at least 1).
  int threads();

  // From now on everything runs on the calling thread. For a library that is terminating, when
  // thread pools may already be gone.
  void SetSerial(bool serial);

 private:
  struct State;
  State* state_;  // deliberately never freed with live workers: see executor.cc
};

}  // namespace h5zarr

#endif  // H5ZARR_EXEC_EXECUTOR_H_
