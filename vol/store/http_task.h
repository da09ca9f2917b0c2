// HttpTask: what the engine works off: one request, and what follows from its answer, until it is done.
//
// Within store/ only. Made by any thread, then used by the engine's alone until it is done; afterwards
// its outcome may be read by whoever was told.
#ifndef H5ZARR_STORE_HTTP_TASK_H_
#define H5ZARR_STORE_HTTP_TASK_H_

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "store/http_headers.h"
#include "store/http_library.h"
#include "store/http_session.h"

namespace h5zarr {

class HttpTask {
 public:
  // What is to be done after a request.
  struct Next {
    enum class Step { kDone, kAgain } step = Step::kDone;
    int delay_ms = 0;
    bool overloaded = false;  // the server wants fewer requests at once
  };

  HttpTask(const HttpTask&) = delete;
  virtual ~HttpTask();

  const HttpSession& session() const { return *session_; }

  // --- for the engine ---------------------------------------------------------------------------
  // The server of the next request.
  virtual std::string Origin() const = 0;
  // Sets up the next request on a fresh handle.
  virtual Status Prepare(const HttpLibrary& curl, CURL* handle) = 0;
  // After a request: what came of it.
  virtual Next Finish(CURLcode code, const char* reason) = 0;
  virtual void Fail(Status status) = 0;
  void Done() { done_(); }

  void Cancel() { cancelled_.store(true, std::memory_order_relaxed); }
  bool cancelled() const { return cancelled_.load(std::memory_order_relaxed); }

 protected:
  // `done` is called once, by the engine's thread, and must be quick. `session` outlives the task.
  HttpTask(std::shared_ptr<HttpSession> session, std::function<void()> done)
      : session_(std::move(session)), done_(std::move(done)) {}

  // For messages: what is asked for, of which object.
  virtual std::string Describe() const = 0;
  // Takes some of the answer's body. False ends the request.
  virtual bool TakeBody(const char* data, uint64_t bytes) = 0;

  // The part of Prepare that all have in common. `with_credentials`: not where the URL is signed itself.
  Status SetUp(const HttpLibrary& curl, CURL* handle, const RequestHead& head, bool with_credentials);
  // Answers and failures that may be others the next time.
  static bool MayPass(int status);
  static bool MayPass(CURLcode code);
  // Failures of names and connections are mostly mistakes: no long patience.
  static bool IsOfConnecting(CURLcode code);
  int PatienceWith(CURLcode code) const;
  // After a failure that may pass: once more, unless it has failed so often by now.
  std::optional<Next> PlanRetry(const std::string& why, bool overloaded, int at_most);
  // ", after 3 attempts", or nothing.
  std::string ShownAttempts() const;

  const std::shared_ptr<HttpSession> session_;
  HttpHeaders headers_;  // of the current request's answer
  int failures_ = 0;     // since the last progress

 private:
  static size_t OnHeader(char* data, size_t size, size_t count, void* task);
  static size_t OnBody(char* data, size_t size, size_t count, void* task);

  const std::function<void()> done_;
  std::atomic<bool> cancelled_ = false;
  curl_slist* header_list_ = nullptr;
  const HttpLibrary* curl_ = nullptr;
};

// The code in S3's error documents, which says what no status does: " (NoSuchKey)", or nothing.
std::string ShownErrorCode(std::string_view body);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_TASK_H_
