#include "exec/executor.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <fstream>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"

namespace h5zarr {
namespace {

constexpr double kCostly = 1e9;

int ThreadsOfProcess() {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("Threads:", 0) == 0) return std::stoi(line.substr(8));
  }
  return -1;
}

// True when `parties` tasks of one run were at work at the same time. Gives up (false) long after
// any machine would have managed.
bool RunsAtOnce(Executor& executor, int parties) {
  std::atomic<int> arrived{0};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const Status status = executor.ParallelFor(parties, kCostly, [&](std::size_t) -> Status {
    ++arrived;
    while (arrived.load() < parties) {
      if (std::chrono::steady_clock::now() > deadline) return InternalError("alone");
      std::this_thread::yield();
    }
    return OkStatus();
  });
  return status.ok();
}

// Runs `body` in a forked child; true when it returned true within the deadline.
template <typename Body>
bool InForkedChild(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends the child, and the test
    _exit(body() ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST_CASE("every task runs exactly once") {
  Executor executor(4);
  for (const double cost_ns : {0.0, 2e5, kCostly}) {
    std::vector<std::atomic<int>> runs(100'003);
    REQUIRE(executor
                .ParallelFor(runs.size(), cost_ns,
                             [&](std::size_t i) {
                               ++runs[i];
                               return OkStatus();
                             })
                .ok());
    int once = 0;
    for (const auto& count : runs) once += count.load() == 1;
    CHECK(once == 100'003);
  }
}

TEST_CASE("costly work runs on several threads") {
  Executor executor(2);
  CHECK(executor.threads() == 2);
  CHECK(RunsAtOnce(executor, 2));
}

TEST_CASE("cheap work stays on the calling thread, in order, and starts no thread") {
  CHECK(InForkedChild([] {
    const int threads_before = ThreadsOfProcess();
    Executor executor(4);
    std::vector<std::size_t> order;
    const std::thread::id caller = std::this_thread::get_id();
    bool here = true;
    const Status status = executor.ParallelFor(100, kSerialBelowNs - 1, [&](std::size_t i) {
      here = here && std::this_thread::get_id() == caller;
      order.push_back(i);
      return OkStatus();
    });
    bool ordered = order.size() == 100;
    for (std::size_t i = 0; i < order.size(); ++i) ordered = ordered && order[i] == i;
    return status.ok() && here && ordered && ThreadsOfProcess() == threads_before;
  }));
}

TEST_CASE("a serial executor runs costly work on the calling thread") {
  Executor executor(4);
  executor.SetSerial(true);
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<int> elsewhere{0};
  REQUIRE(executor
              .ParallelFor(1000, kCostly,
                           [&](std::size_t) {
                             elsewhere += std::this_thread::get_id() != caller;
                             return OkStatus();
                           })
              .ok());
  CHECK(elsewhere == 0);
}

TEST_CASE("the first failure is returned and later tasks are skipped") {
  Executor executor(2);
  for (const double cost_ns : {0.0, kCostly}) {
    std::atomic<int> ran{0};
    const Status status = executor.ParallelFor(1'000'000, cost_ns, [&](std::size_t i) {
      ++ran;
      return i == 10 ? CorruptError("chunk 10") : OkStatus();
    });
    CHECK(status.code() == StatusCode::kCorrupt);
    CHECK(status.message() == "chunk 10");
    CHECK(ran < 1'000'000);
  }
}

TEST_CASE("an exception in a task becomes a failure") {
  Executor executor(2);
  for (const double cost_ns : {0.0, kCostly}) {
    const Status thrown =
        executor.ParallelFor(50, cost_ns, [](std::size_t) -> Status { throw std::runtime_error("broken"); });
    CHECK(thrown.code() == StatusCode::kInternal);
    CHECK(thrown.message().find("broken") != std::string::npos);
    const Status no_memory = executor.ParallelFor(50, cost_ns, [](std::size_t) -> Status { throw std::bad_alloc(); });
    CHECK(no_memory.code() == StatusCode::kNoSpace);
    const Status odd = executor.ParallelFor(50, cost_ns, [](std::size_t) -> Status { throw 7; });
    CHECK(odd.code() == StatusCode::kInternal);
  }
}

TEST_CASE("a run within a task stays on the task's thread") {
  Executor executor(4);
  std::atomic<int> elsewhere{0};
  std::atomic<int> inner_runs{0};
  REQUIRE(executor
              .ParallelFor(8, kCostly,
                           [&](std::size_t) {
                             const std::thread::id outer = std::this_thread::get_id();
                             return executor.ParallelFor(100, kCostly, [&](std::size_t) {
                               elsewhere += std::this_thread::get_id() != outer;
                               ++inner_runs;
                               return OkStatus();
                             });
                           })
              .ok());
  CHECK(elsewhere == 0);
  CHECK(inner_runs == 800);
}

TEST_CASE("several threads may run at once, none waiting for another's tasks") {
  Executor executor(2);
  // Each run waits for one task of the other run: this ends only if neither needs the other to end.
  std::atomic<int> runs_begun{0};
  std::atomic<bool> alone{false};
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  const auto run = [&] {
    std::atomic<bool> counted{false};
    const Status status = executor.ParallelFor(4, kCostly, [&](std::size_t) {
      if (!counted.exchange(true)) ++runs_begun;
      while (runs_begun.load() < 2 && !alone) {
        if (std::chrono::steady_clock::now() > deadline) alone = true;
        std::this_thread::yield();
      }
      return OkStatus();
    });
    if (!status.ok()) alone = true;
  };
  std::thread other(run);
  run();
  other.join();
  CHECK_FALSE(alone);
}

TEST_CASE("a child forked after parallel work has several threads again") {
  Executor executor(2);
  REQUIRE(RunsAtOnce(executor, 2));
  for (int round = 0; round < 5; ++round) {
    CHECK(InForkedChild([&] { return RunsAtOnce(executor, 2) && RunsAtOnce(executor, 2); }));
  }
  CHECK(RunsAtOnce(executor, 2));
}

TEST_CASE("an executor made in a forked child, and one in a child's child, have several threads") {
  Executor parents(2);
  REQUIRE(RunsAtOnce(parents, 2));
  CHECK(InForkedChild([] {
    Executor executor(2);
    if (!RunsAtOnce(executor, 2)) return false;
    const pid_t grandchild = fork();
    if (grandchild == 0) _exit(RunsAtOnce(executor, 2) ? 0 : 1);
    int status = -1;
    waitpid(grandchild, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 && RunsAtOnce(executor, 2);
  }));
}

TEST_CASE("failures and exceptions arrive from a forked child's threads too") {
  Executor executor(2);
  REQUIRE(RunsAtOnce(executor, 2));
  CHECK(InForkedChild([&] {
    const Status status = executor.ParallelFor(100, kCostly, [](std::size_t i) -> Status {
      if (i == 50) throw std::runtime_error("broken");
      return OkStatus();
    });
    return status.code() == StatusCode::kInternal;
  }));
}

TEST_CASE("an executor can be destroyed in a forked child and in its own process") {
  auto executor = std::make_unique<Executor>(2);
  REQUIRE(RunsAtOnce(*executor, 2));
  CHECK(InForkedChild([&] {
    executor.reset();
    Executor next(2);
    return RunsAtOnce(next, 2);
  }));
  executor.reset();
  Executor next(2);
  CHECK(RunsAtOnce(next, 2));
}

}  // namespace
}  // namespace h5zarr
