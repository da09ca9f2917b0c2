#include "exec/plain_pool.h"

#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>

namespace h5zarr {
namespace {

struct Job {
  const std::function<void()>* work = nullptr;
  int places = 0;  // helpers that may still join
  int active = 0;  // helpers at work
};

}  // namespace

struct PlainPool::Shared {
  std::mutex mutex;
  std::condition_variable work_came;
  std::condition_variable helper_left;
  std::deque<Job*> jobs;  // guarded by mutex, as are the jobs themselves; each has places
  int threads = 0;        // guarded by mutex
  bool stopping = false;  // guarded by mutex
};

PlainPool::PlainPool(int max_helpers) : max_helpers_(std::max(0, max_helpers)), shared_(std::make_shared<Shared>()) {}

PlainPool::~PlainPool() {
  const std::lock_guard<std::mutex> lock(shared_->mutex);
  shared_->stopping = true;
  shared_->work_came.notify_all();
}

void PlainPool::Loop(std::shared_ptr<Shared> shared) {
  std::unique_lock<std::mutex> lock(shared->mutex);
  while (true) {
    shared->work_came.wait(lock, [&] { return shared->stopping || !shared->jobs.empty(); });
    if (shared->stopping) return;
    Job* const job = shared->jobs.front();
    if (--job->places == 0) shared->jobs.pop_front();
    ++job->active;
    lock.unlock();
    (*job->work)();
    lock.lock();
    if (--job->active == 0) shared->helper_left.notify_all();
  }
}

// REQUIRES: shared->mutex is held.
void PlainPool::StartThreads(const std::shared_ptr<Shared>& shared, int wanted_threads) {
  if (shared->threads >= wanted_threads) return;
  // The program's signals are for the program's own threads.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    while (shared->threads < wanted_threads) {
      std::thread(&PlainPool::Loop, shared).detach();
      ++shared->threads;
    }
  } catch (const std::system_error&) {
    // No more threads to be had: the work is done by those there are, the caller at least.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void PlainPool::Run(int helpers, const std::function<void()>& work) {
  Job job;
  job.work = &work;
  job.places = std::min(helpers, max_helpers_);
  if (job.places > 0) {
    const std::lock_guard<std::mutex> lock(shared_->mutex);
    StartThreads(shared_, job.places);
    shared_->jobs.push_back(&job);
    shared_->work_came.notify_all();
  }
  work();
  std::unique_lock<std::mutex> lock(shared_->mutex);
  std::erase(shared_->jobs, &job);
  shared_->helper_left.wait(lock, [&] { return job.active == 0; });
}

}  // namespace h5zarr
