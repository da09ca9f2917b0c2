// HttpEngine: the one thread of a process that talks HTTP. Others hand it tasks and are told when they
// are done.
//
// Within store/ only. Made at the first request; a forked child makes its own, and leaves alone what it
// inherited (connections are the parent's). Never destroyed.
#ifndef H5ZARR_STORE_HTTP_ENGINE_H_
#define H5ZARR_STORE_HTTP_ENGINE_H_

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/http_library.h"
#include "store/http_task.h"

namespace h5zarr {

// Lets a thread wait for a task.
class HttpWaiter {
 public:
  HttpWaiter() : state_(std::make_shared<State>()) {}
  // What the task is to call when it is done.
  std::function<void()> OnDone() const;
  // Hands the task to the engine, which owns it until it is done. Once.
  Status Submit(std::shared_ptr<HttpTask> task);
  // Blocks until it is done. Only after Submit succeeded.
  void Wait();

 private:
  // Shared, so that the engine may still be within OnDone's function when Wait returns.
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;  // guarded by mutex
  };
  const std::shared_ptr<State> state_;
};

class HttpEngine {
 public:
  // This process's engine. Thread-safe.
  static Result<HttpEngine*> Get();

  // Starts `task`; its `done` is called once, whatever happens. Thread-safe, does not block.
  void Submit(std::shared_ptr<HttpTask> task);
  // Looks for cancelled tasks at once: each is done soon, and until then its target may be written to.
  void NoticeCancelled();

 private:
  using Clock = std::chrono::steady_clock;
  using TaskPtr = std::shared_ptr<HttpTask>;
  struct Server {
    int limit = 0;  // requests at once: halved when it is too much, then growing again
    int most = 0;   // what its stores ask for
    int active = 0;
    int good = 0;  // answers since the limit changed
    Clock::time_point halved;
    std::deque<TaskPtr> waiting;
  };
  struct Request {
    TaskPtr task;
    Server* server = nullptr;
  };

  explicit HttpEngine(const HttpLibrary* curl) : curl_(*curl) {}
  Status Start();
  void Run();
  void TakeSubmitted();
  void DropCancelled();
  void StartWaiting();
  void StartRequest(Server* server, TaskPtr task);
  void FinishRequest(CURL* handle, CURLcode code);
  void Enqueue(TaskPtr task);
  void Note(Server* server, bool overloaded);
  int TimeoutMs() const;

  const HttpLibrary& curl_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::vector<TaskPtr> submitted_;  // guarded by mutex_
  bool cancelled_ = false;          // guarded by mutex_: some task is
  // Of the thread alone:
  std::map<std::string, Server> servers_;
  std::map<CURL*, Request> active_;
  std::multimap<Clock::time_point, TaskPtr> delayed_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_ENGINE_H_
