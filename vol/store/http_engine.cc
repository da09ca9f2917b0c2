#include "store/http_engine.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace h5zarr {
namespace {

constexpr int kIdleTimeoutMs = 60'000;
constexpr long kMaxConnections = 128;  // kept, of all servers
// Failures that come at once count once.
constexpr std::chrono::milliseconds kHalvingInterval{500};

// Both are made anew in a forked child: the lock may be held by a thread that is not there any more, and
// the engine's thread is not.
struct EngineHolder {
  std::mutex mutex;
  HttpEngine* engine = nullptr;  // guarded by mutex
  bool fork_noticed = false;     // guarded by mutex
};
alignas(EngineHolder) unsigned char holder_memory[sizeof(EngineHolder)];

EngineHolder& Holder() {
  static EngineHolder* const holder = new (holder_memory) EngineHolder();
  return *holder;
}

void BeforeFork() { Holder().mutex.lock(); }
void AfterForkInParent() { Holder().mutex.unlock(); }
void AfterForkInChild() {
  new (holder_memory) EngineHolder();
  Holder().fork_noticed = true;
}

}  // namespace

std::function<void()> HttpWaiter::OnDone() const {
  return [state = state_] {
    const std::lock_guard<std::mutex> lock(state->mutex);
    state->done = true;
    state->changed.notify_all();
  };
}

Status HttpWaiter::Submit(std::shared_ptr<HttpTask> task) {
  H5ZARR_ASSIGN_OR_RETURN(HttpEngine* const engine, HttpEngine::Get());
  engine->Submit(std::move(task));
  return OkStatus();
}

void HttpWaiter::Wait() {
  std::unique_lock<std::mutex> lock(state_->mutex);
  state_->changed.wait(lock, [this] { return state_->done; });
}

Result<HttpEngine*> HttpEngine::Get() {
  EngineHolder& holder = Holder();
  const std::lock_guard<std::mutex> lock(holder.mutex);
  if (holder.engine != nullptr) return holder.engine;
  H5ZARR_ASSIGN_OR_RETURN(const HttpLibrary* const curl, LoadHttpLibrary());
  if (!holder.fork_noticed) {
    if (pthread_atfork(BeforeFork, AfterForkInParent, AfterForkInChild) != 0) {
      return NoSpaceError("no memory for one more handler of forks");
    }
    holder.fork_noticed = true;
  }
  std::unique_ptr<HttpEngine> engine(new HttpEngine(curl));
  H5ZARR_RETURN_IF_ERROR(engine->Start());
  holder.engine = engine.release();
  return holder.engine;
}

Status HttpEngine::Start() {
  multi_ = curl_.multi_init();
  if (multi_ == nullptr) return NoSpaceError("libcurl has no memory");
  curl_.multi_setopt(multi_, CURLMOPT_MAXCONNECTS, kMaxConnections);
  // The program's signals are its own threads' business.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  Status status;
  try {
    std::thread([this] { Run(); }).detach();
  } catch (const std::system_error& error) {
    status = NoSpaceError(std::string("cannot start the thread for HTTP: ") + error.what());
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return status;
}

void HttpEngine::Submit(TaskPtr task) {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    submitted_.push_back(std::move(task));
  }
  curl_.multi_wakeup(multi_);
}

void HttpEngine::NoticeCancelled() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    cancelled_ = true;
  }
  curl_.multi_wakeup(multi_);
}

void HttpEngine::Run() {
  while (true) {
    TakeSubmitted();
    const Clock::time_point now = Clock::now();
    while (!delayed_.empty() && delayed_.begin()->first <= now) {
      Enqueue(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    StartWaiting();
    int running = 0;
    curl_.multi_perform(multi_, &running);
    int left = 0;
    bool finished = false;
    while (const CURLMsg* message = curl_.multi_info_read(multi_, &left)) {
      if (message->msg != CURLMSG_DONE) continue;
      FinishRequest(message->easy_handle, message->data.result);
      finished = true;
    }
    if (!finished) curl_.multi_poll(multi_, nullptr, 0, TimeoutMs(), nullptr);
  }
}

int HttpEngine::TimeoutMs() const {
  if (delayed_.empty()) return kIdleTimeoutMs;
  const auto wait = std::chrono::duration_cast<std::chrono::milliseconds>(delayed_.begin()->first - Clock::now());
  return static_cast<int>(std::clamp<long long>(wait.count() + 1, 0, kIdleTimeoutMs));
}

void HttpEngine::TakeSubmitted() {
  std::vector<TaskPtr> submitted;
  bool cancelled = false;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    submitted.swap(submitted_);
    std::swap(cancelled, cancelled_);
  }
  for (TaskPtr& task : submitted) Enqueue(std::move(task));
  if (cancelled) DropCancelled();
}

void HttpEngine::DropCancelled() {
  std::vector<CURL*> handles;
  for (const auto& [handle, request] : active_) {
    if (request.task->cancelled()) handles.push_back(handle);
  }
  for (CURL* const handle : handles) FinishRequest(handle, CURLE_ABORTED_BY_CALLBACK);
  const auto drop = [](const TaskPtr& task) {
    if (!task->cancelled()) return false;
    task->Finish(CURLE_ABORTED_BY_CALLBACK, "");
    task->Done();
    return true;
  };
  for (auto& [origin, server] : servers_) std::erase_if(server.waiting, drop);
  std::erase_if(delayed_, [&](const auto& entry) { return drop(entry.second); });
}

void HttpEngine::Enqueue(TaskPtr task) {
  Server& server = servers_[task->Origin()];
  server.most = std::max(server.most, task->session().options().concurrency);
  if (server.limit == 0) server.limit = server.most;
  server.waiting.push_back(std::move(task));
}

void HttpEngine::StartWaiting() {
  for (auto& [origin, server] : servers_) {
    while (server.active < server.limit && !server.waiting.empty()) {
      TaskPtr task = std::move(server.waiting.front());
      server.waiting.pop_front();
      StartRequest(&server, std::move(task));
    }
  }
}

void HttpEngine::StartRequest(Server* server, TaskPtr task) {
  CURL* const handle = curl_.easy_init();
  Status status = handle != nullptr ? task->Prepare(curl_, handle) : NoSpaceError("libcurl has no memory");
  if (status.ok() && curl_.multi_add_handle(multi_, handle) != CURLM_OK) {
    status = InternalError("libcurl takes no more requests");
  }
  if (!status.ok()) {
    if (handle != nullptr) curl_.easy_cleanup(handle);
    task->Fail(std::move(status));
    task->Done();
    return;
  }
  ++server->active;
  active_[handle] = {std::move(task), server};
}

void HttpEngine::FinishRequest(CURL* handle, CURLcode code) {
  const auto found = active_.find(handle);
  const Request request = std::move(found->second);
  active_.erase(found);
  --request.server->active;
  curl_.multi_remove_handle(multi_, handle);
  curl_.easy_cleanup(handle);
  const HttpTask::Next next = request.task->Finish(code, curl_.easy_strerror(code));
  Note(request.server, next.overloaded);
  if (next.step == HttpTask::Next::Step::kDone) {
    request.task->Done();
  } else if (next.delay_ms == 0) {
    Enqueue(request.task);
  } else {
    delayed_.emplace(Clock::now() + std::chrono::milliseconds(next.delay_ms), request.task);
  }
}

void HttpEngine::Note(Server* server, bool overloaded) {
  if (overloaded) {
    const Clock::time_point now = Clock::now();
    if (now - server->halved < kHalvingInterval) return;
    server->halved = now;
    server->limit = std::max(1, server->limit / 2);
    server->good = 0;
  } else if (++server->good >= server->limit && server->limit < server->most) {
    ++server->limit;
    server->good = 0;
  }
}

}  // namespace h5zarr
