#include "exec/executor.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/partitioner.h>
#include <oneapi/tbb/task_arena.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <string>

#include "exec/cpu_limit.h"
#include "exec/plain_pool.h"

namespace h5zarr {
namespace {

// What a thread takes from the counter of tasks at once should be worth about this.
constexpr double kGrainNs = 10'000;
constexpr int kMaxThreads = 1024;

// The process in which the first Executor was made. Only there is oneTBB used: its threads do not
// survive a fork, and it does not notice (a child would run everything on one thread, and what it
// enqueues never). Whether somebody else in the process has used the same oneTBB before the fork
// cannot be known, so a forked child never uses it.
std::atomic<pid_t> tbb_pid{0};

// True on a thread while it takes part in a parallel run.
thread_local bool in_parallel_run = false;

Status RunTask(const std::function<Status(std::size_t)>& task, std::size_t index) {
  try {
    return task(index);
  } catch (const std::bad_alloc&) {
    return NoSpaceError("out of memory");
  } catch (const std::exception& e) {
    return InternalError(std::string("unexpected exception: ") + e.what());
  } catch (...) {
    return InternalError("unexpected exception of unknown type");
  }
}

// One call of ParallelFor: tasks are drawn in order from a counter, so that reads stay roughly
// sequential and it does not matter how many threads come to help, or when.
class Run {
 public:
  Run(std::size_t count, std::size_t grain, const std::function<Status(std::size_t)>& task)
      : count_(count), grain_(grain), task_(task) {}

  void TakePart() {
    in_parallel_run = true;
    while (!failed_.load(std::memory_order_relaxed)) {
      const std::size_t begin = next_.fetch_add(grain_, std::memory_order_relaxed);
      if (begin >= count_) break;
      const std::size_t end = begin + std::min(grain_, count_ - begin);
      for (std::size_t i = begin; i < end && !failed_.load(std::memory_order_relaxed); ++i) {
        Status status = RunTask(task_, i);
        if (!status.ok()) Fail(std::move(status));
      }
    }
    in_parallel_run = false;
  }

  // REQUIRES: nobody takes part any more.
  Status Outcome() { return std::move(failure_); }

 private:
  void Fail(Status status) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (failure_.ok()) failure_ = std::move(status);
    failed_.store(true, std::memory_order_relaxed);
  }

  const std::size_t count_;
  const std::size_t grain_;
  const std::function<Status(std::size_t)>& task_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  Status failure_;  // guarded by mutex_ while threads take part
};

// The thread sanitizer cannot see how the distribution's oneTBB hands work from thread to thread, and
// a suppression would hide true races within tasks: under it the plain threads do the work.
#if defined(__SANITIZE_THREAD__)
constexpr bool kMayUseTbb = false;
#else
constexpr bool kMayUseTbb = true;
#endif

// The threads of one process.
class Backend {
 public:
  Backend(pid_t pid, int threads) : pid_(pid), threads_(threads) {
    if (kMayUseTbb && pid == tbb_pid.load() && threads <= ThreadsOfTbb()) {
      arena_ = std::make_unique<tbb::task_arena>(threads);
    } else {
      pool_ = std::make_unique<PlainPool>(threads - 1);
    }
  }

  pid_t pid() const { return pid_; }

  // Calls run.TakePart() on the calling thread and on up to `threads` - 1 others.
  void Execute(Run& run, int threads) {
    if (pool_) return pool_->Run(threads - 1, [&run] { run.TakePart(); });
    // A thread that finds the arena full of another's work would have to wait for that, perhaps
    // while it holds what the other needs; so it gets an arena of its own.
    if (!busy_.exchange(true, std::memory_order_acquire)) {
      ExecuteIn(*arena_, run, threads);
      busy_.store(false, std::memory_order_release);
    } else {
      tbb::task_arena own(threads_);
      ExecuteIn(own, run, threads);
    }
  }

 private:
  static void ExecuteIn(tbb::task_arena& arena, Run& run, int threads) {
    try {
      arena.execute([&run, threads] {
        tbb::this_task_arena::isolate([&run, threads] {
          tbb::parallel_for(
              0, threads, [&run](int) { run.TakePart(); }, tbb::simple_partitioner());
        });
      });
    } catch (const std::exception&) {
      // oneTBB could not get its own memory or threads (tasks do not throw); no task is lost.
      run.TakePart();
    }
  }

  // oneTBB never runs more threads than this, and complains on stderr when asked to. Whoever wants
  // more (a slow file system is worth more threads than CPUs) gets them from a pool of ours.
  static int ThreadsOfTbb() {
    return static_cast<int>(std::min<std::size_t>(
        tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism), kMaxThreads));
  }

  const pid_t pid_;
  const int threads_;
  std::unique_ptr<tbb::task_arena> arena_;  // null: pool_ is used
  std::atomic<bool> busy_{false};           // a thread works in arena_
  std::unique_ptr<PlainPool> pool_;
};

}  // namespace

// Only atomics: another thread of the parent may have been within any of these at a fork.
struct Executor::State {
  explicit State(int requested) : requested_threads(std::clamp(requested, 0, kMaxThreads)) {}

  Backend& BackendOfThisProcess(int threads) {
    const pid_t pid = getpid();
    Backend* current = backend.load(std::memory_order_acquire);
    while (current == nullptr || current->pid() != pid) {
      auto made = std::make_unique<Backend>(pid, threads);
      // An inherited backend is left as it is: its threads are gone and its locks may be held.
      if (backend.compare_exchange_strong(current, made.get(), std::memory_order_acq_rel)) {
        current = made.release();
      }
    }
    return *current;
  }

  const int requested_threads;
  std::atomic<int> usable_cpus{0};  // 0: not asked yet
  std::atomic<bool> serial{false};
  std::atomic<Backend*> backend{nullptr};
};

Executor::Executor(int threads) : state_(new State(threads)) {
  pid_t nobody = 0;
  tbb_pid.compare_exchange_strong(nobody, getpid());
}

Executor::~Executor() {
  Backend* const backend = state_->backend.load();
  // When the library terminates oneTBB may already be gone, and a parent's threads are not ours.
  if (backend != nullptr && !state_->serial.load() && backend->pid() == getpid()) delete backend;
  delete state_;
}

int Executor::threads() {
  if (state_->requested_threads > 0) return state_->requested_threads;
  int cpus = state_->usable_cpus.load(std::memory_order_relaxed);
  if (cpus == 0) {
    cpus = std::min(UsableCpus(), kMaxThreads);
    state_->usable_cpus.store(cpus, std::memory_order_relaxed);
  }
  return cpus;
}

void Executor::SetSerial(bool serial) { state_->serial.store(serial); }

Status Executor::ParallelFor(std::size_t count, double cost_ns, const std::function<Status(std::size_t)>& task) {
  const bool worth_it = count > 1 && cost_ns >= kSerialBelowNs;
  if (!worth_it || in_parallel_run || state_->serial.load() || threads() == 1) {
    for (std::size_t i = 0; i < count; ++i) H5ZARR_RETURN_IF_ERROR(RunTask(task, i));
    return OkStatus();
  }
  const int limit = threads();
  const double worth_threads = std::ceil(cost_ns / (kSerialBelowNs / 2));
  int threads = worth_threads < limit ? static_cast<int>(worth_threads) : limit;
  if (count < static_cast<std::size_t>(threads)) threads = static_cast<int>(count);
  const double grain = kGrainNs * static_cast<double>(count) / cost_ns;
  const double fair_grain = static_cast<double>(count) / (4.0 * threads);
  Run run(count, static_cast<std::size_t>(std::max(1.0, std::min(grain, fair_grain))), task);
  try {
    state_->BackendOfThisProcess(limit).Execute(run, threads);
  } catch (const std::exception&) {
    // No memory for a backend: the calling thread does what is left.
    run.TakePart();
  }
  return run.Outcome();
}

}  // namespace h5zarr
