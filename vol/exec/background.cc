#include "exec/background.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

namespace h5zarr {
namespace {

Status RunJob(const std::function<Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return NoSpaceError("out of memory");
  } catch (const std::exception& error) {
    return InternalError(std::string("unexpected exception: ") + error.what());
  }
}

class QueuedJob : public Job {
 public:
  explicit QueuedJob(std::function<Status()> work) : pid_(getpid()), work_(std::move(work)) {}

  // What it holds is given back before anybody learns that it is done.
  void Run() {
    Status outcome = RunJob(work_);
    work_ = nullptr;
    const std::lock_guard<std::mutex> lock(mutex_);
    outcome_ = std::move(outcome);
    done_ = true;
    changed_.notify_all();
  }

  Status Wait() override {
    if (getpid() != pid_) return InternalError("the process was forked before this was done");
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [this] { return done_; });
    return outcome_;
  }

  bool WaitFor(uint64_t timeout_ns) override {
    // Longer than anybody waits, and short enough for the clock's arithmetic.
    constexpr uint64_t kMostNs = uint64_t{1} << 60;
    if (getpid() != pid_) return false;
    std::unique_lock<std::mutex> lock(mutex_);
    const auto timeout = std::chrono::nanoseconds(std::min(timeout_ns, kMostNs));
    return changed_.wait_for(lock, timeout, [this] { return done_; });
  }

 private:
  const pid_t pid_;
  std::function<Status()> work_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool done_ = false;  // guarded by mutex_, as is the next
  Status outcome_;
};

}  // namespace

struct Background::State {
  explicit State(uint64_t budget) : pid(getpid()), budget_bytes(budget) {}

  struct Entry {
    std::shared_ptr<QueuedJob> job;
    uint64_t held_bytes = 0;
  };

  void Loop() {
    std::unique_lock<std::mutex> lock(mutex);
    while (true) {
      changed.wait(lock, [this] { return ending || !queue.empty(); });
      if (queue.empty()) return;
      Entry entry = std::move(queue.front());
      queue.pop_front();
      running = true;
      lock.unlock();
      entry.job->Run();
      lock.lock();
      running = false;
      held_bytes -= entry.held_bytes;
      changed.notify_all();
    }
  }

  const pid_t pid;
  const uint64_t budget_bytes;
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<Entry> queue;  // guarded by mutex, as is all that follows
  uint64_t held_bytes = 0;  // by jobs that wait or run
  bool running = false;
  bool ending = false;
  bool started = false;
  std::thread thread;
};

Background::Background(uint64_t budget_bytes) : state_(std::make_shared<State>(budget_bytes)) {}

Background::~Background() {
  if (state_->pid != getpid()) {
    // The thread is the parent's; so is what it holds.
    new std::shared_ptr<State>(std::move(state_));
    return;
  }
  {
    const std::lock_guard<std::mutex> lock(state_->mutex);
    state_->ending = true;
    state_->changed.notify_all();
  }
  if (state_->thread.joinable()) state_->thread.join();
}

void Background::Drain() {
  if (state_->pid != getpid()) return;
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->queue.empty() && !state_->running; });
}

JobPtr Background::Submit(uint64_t held_bytes, std::function<Status()> work) {
  auto job = std::make_shared<QueuedJob>(std::move(work));
  State& state = *state_;
  bool queued = false;
  if (state.pid == getpid()) {
    std::unique_lock<std::mutex> lock(state.mutex);
    if (!state.started) {
      try {
        state.thread = std::thread([&state] { state.Loop(); });
        state.started = true;
      } catch (const std::system_error&) {
        // No thread to be had: done by the caller, below.
      }
    }
    if (state.started) {
      state.changed.wait(lock, [&] {
        return state.held_bytes == 0 ||
               (held_bytes <= state.budget_bytes && state.held_bytes <= state.budget_bytes - held_bytes);
      });
      state.queue.push_back({job, held_bytes});
      state.held_bytes += held_bytes;
      state.changed.notify_all();
      queued = true;
    }
  }
  if (!queued) job->Run();
  return job;
}

}  // namespace h5zarr
