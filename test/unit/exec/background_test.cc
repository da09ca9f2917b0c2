#include "exec/background.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "catch.h"

namespace h5zarr {
namespace {

// A job that ends when it is told to.
class Gate {
 public:
  Status Pass() {
    while (!open_) std::this_thread::yield();
    return OkStatus();
  }
  void Open() { open_ = true; }

 private:
  std::atomic<bool> open_{false};
};

TEST_CASE("background: jobs run beside the caller, in their order") {
  Gate gate;
  std::vector<int> order;  // written by one thread
  Background background(1000);
  const JobPtr first = background.Submit(1, [&] { return gate.Pass(); });
  std::vector<JobPtr> jobs;
  for (int i = 0; i < 10; ++i) {
    jobs.push_back(background.Submit(1, [&order, i] { return order.push_back(i), OkStatus(); }));
  }
  CHECK_FALSE(first->WaitFor(0));
  CHECK_FALSE(jobs.back()->WaitFor(1000));
  gate.Open();
  CHECK(jobs.back()->Wait().ok());
  CHECK(first->WaitFor(0));
  CHECK(order == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
}

TEST_CASE("background: a job's failure is its outcome, as often as it is asked") {
  Background background(1000);
  const JobPtr failed = background.Submit(0, [] { return NoSpaceError("disk full"); });
  const JobPtr threw = background.Submit(0, []() -> Status { throw std::runtime_error("odd"); });
  CHECK(failed->Wait().code() == StatusCode::kNoSpace);
  CHECK(failed->Wait().code() == StatusCode::kNoSpace);
  CHECK(threw->Wait().code() == StatusCode::kInternal);
}

TEST_CASE("background: a job waits for its share of the budget") {
  Background background(100);
  Gate gate;
  std::atomic<bool> submitted{false};
  background.Submit(60, [&] { return gate.Pass(); });
  background.Submit(40, [] { return OkStatus(); });
  std::thread caller([&] {
    background.Submit(50, [] { return OkStatus(); });
    submitted = true;
  });
  CHECK_FALSE(submitted);
  gate.Open();
  caller.join();
  // Larger than the budget: when it is alone.
  CHECK(background.Submit(1000, [] { return OkStatus(); })->Wait().ok());
}

TEST_CASE("background: what a job holds is gone when it is done") {
  Background background(1000);
  auto held = std::make_shared<int>(1);
  const std::weak_ptr<int> watch = held;
  const JobPtr job = background.Submit(1, [held = std::move(held)] { return OkStatus(); });
  CHECK(job->Wait().ok());
  CHECK(watch.expired());
}

TEST_CASE("background: draining and the end wait for every job") {
  std::atomic<int> done{0};
  {
    Background background(1000);
    for (int i = 0; i < 5; ++i) background.Submit(1, [&] { return ++done, OkStatus(); });
    background.Drain();
    CHECK(done == 5);
    for (int i = 0; i < 5; ++i) background.Submit(1, [&] { return ++done, OkStatus(); });
  }
  CHECK(done == 10);
}

TEST_CASE("background: a forked child waits for nothing of its parent's") {
  Gate gate;
  auto background = std::make_unique<Background>(1000);
  const JobPtr job = background->Submit(1, [&] { return gate.Pass(); });
  const pid_t child = fork();
  if (child == 0) {
    alarm(20);
    background->Drain();
    const bool told = job->Wait().code() == StatusCode::kInternal && !job->WaitFor(1);
    const bool own = background->Submit(1, [] { return OkStatus(); })->Wait().ok();
    background.reset();
    _exit(told && own ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  gate.Open();
}

}  // namespace
}  // namespace h5zarr
