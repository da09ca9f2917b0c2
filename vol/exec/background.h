// Background: jobs that run beside the callers, one after the other in the order they were given.
//
// For writes that a program does not wait for and for asynchronous requests: their order is the
// program's own. A job may use an Executor for what it does.
#ifndef H5ZARR_EXEC_BACKGROUND_H_
#define H5ZARR_EXEC_BACKGROUND_H_

#include <cstdint>
#include <functional>
#include <memory>

#include "base/status.h"

namespace h5zarr {

// A job's outcome. Thread-safe; keeps nothing alive but itself.
class Job {
 public:
  virtual ~Job() = default;
  // Waits until the job is done, and returns what it returned; as often as wanted. In a forked
  // child, where an unfinished job never ends, kInternal at once.
  virtual Status Wait() = 0;
  // Waits at most `timeout_ns`; true when the job is done.
  virtual bool WaitFor(uint64_t timeout_ns) = 0;
};
using JobPtr = std::shared_ptr<Job>;

class Background {
 public:
  // `budget_bytes`: the most that jobs not yet done may hold together. Starts no thread.
  explicit Background(uint64_t budget_bytes);
  Background(const Background&) = delete;
  Background& operator=(const Background&) = delete;
  // Waits for all jobs (not in a forked child).
  ~Background();

  // Gives a job that holds `held_bytes` until it is done. Blocks while jobs hold so much already
  // that the budget would be exceeded (a job larger than all of it waits until it is alone). Where
  // no thread can be started the job runs now. Thread-safe, but not from within a job.
  JobPtr Submit(uint64_t held_bytes, std::function<Status()> job);
  // Waits until no job is left. Nothing in a forked child.
  void Drain();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace h5zarr

#endif  // H5ZARR_EXEC_BACKGROUND_H_
