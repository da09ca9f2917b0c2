// HttpEngine: the one thread of a process that talks HTTP. Others hand it fetches and are told when they
// are done.
//
// Within store/ only. Made at the first request; a forked child makes its own, and leaves alone what it
// inherited (connections are the parent's). Never destroyed.
#ifndef H5ZARR_STORE_HTTP_ENGINE_H_
#define H5ZARR_STORE_HTTP_ENGINE_H_

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "store/http_fetch.h"
#include "store/http_library.h"

namespace h5zarr {

class HttpEngine {
 public:
  // This process's engine. Thread-safe.
  static Result<HttpEngine*> Get();

  // Starts `fetch`; its `done` is called once, whatever happens. Thread-safe, does not block.
  void Submit(std::shared_ptr<HttpFetch> fetch);
  // Looks for cancelled fetches at once: each is done soon, and until then its target may be written to.
  void NoticeCancelled();

 private:
  using Clock = std::chrono::steady_clock;
  using FetchPtr = std::shared_ptr<HttpFetch>;
  struct Server {
    int limit = 0;    // requests at once: halved when it is too much, then growing again
    int most = 0;     // what its stores ask for
    int active = 0;
    int good = 0;     // answers since the limit changed
    Clock::time_point halved;
    std::deque<FetchPtr> waiting;
  };
  struct Request {
    FetchPtr fetch;
    Server* server = nullptr;
  };

  explicit HttpEngine(const HttpLibrary* curl) : curl_(*curl) {}
  Status Start();
  void Run();
  void TakeSubmitted();
  void DropCancelled();
  void StartWaiting();
  void StartRequest(Server* server, FetchPtr fetch);
  void FinishRequest(CURL* handle, CURLcode code);
  void Enqueue(FetchPtr fetch);
  void Note(Server* server, bool overloaded);
  int TimeoutMs() const;

  const HttpLibrary& curl_;
  CURLM* multi_ = nullptr;
  std::mutex mutex_;
  std::vector<FetchPtr> submitted_;  // guarded by mutex_
  bool cancelled_ = false;           // guarded by mutex_: some fetch is
  // Of the thread alone:
  std::map<std::string, Server> servers_;
  std::map<CURL*, Request> active_;
  std::multimap<Clock::time_point, FetchPtr> delayed_;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_ENGINE_H_
