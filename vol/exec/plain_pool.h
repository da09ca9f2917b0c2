// PlainPool: a few detached threads that help a caller with its work. For processes in which oneTBB
// no longer works: those forked from one that had used it.
//
// Within exec/ only.
#ifndef H5ZARR_EXEC_PLAIN_POOL_H_
#define H5ZARR_EXEC_PLAIN_POOL_H_

#include <functional>
#include <memory>

namespace h5zarr {

class PlainPool {
 public:
  // At most `max_helpers` threads beside the callers'. Starts none.
  explicit PlainPool(int max_helpers);
  PlainPool(const PlainPool&) = delete;
  PlainPool& operator=(const PlainPool&) = delete;
  // Its threads end by themselves and free what they share. REQUIRES: no Run is going on, and the
  // process is the one that made the pool.
  ~PlainPool();

  // Calls `work` on the calling thread and, as they come free, on up to `helpers` threads of the
  // pool; returns when every call that was begun has returned. Never waits for a helper that has
  // not begun, so it ends even if no thread can be started. `work` must not throw. Thread-safe.
  void Run(int helpers, const std::function<void()>& work);

 private:
  struct Shared;
  static void Loop(std::shared_ptr<Shared> shared);
  static void StartThreads(const std::shared_ptr<Shared>& shared, int wanted_threads);

  const int max_helpers_;
  const std::shared_ptr<Shared> shared_;
};

}  // namespace h5zarr

#endif  // H5ZARR_EXEC_PLAIN_POOL_H_
