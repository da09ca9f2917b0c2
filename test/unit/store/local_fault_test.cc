// Faults and other processes: full disks, shrinking files, forks, kills, and the cost of a batch.
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "catch.h"
#include "conformance/store/test_stores.h"
#include "store/local_store.h"
#include "unit/store/temp_directory.h"

namespace h5zarr {
namespace {

// Forks; the child ends with what `body` returns.
template <typename Body>
pid_t Fork(const Body& body) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);  // a hang ends the child, and the test
    _exit(body() ? 0 : 1);
  }
  REQUIRE(child > 0);
  return child;
}

bool Succeeded(pid_t child) {
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::size_t FilesBelow(const std::string& path) {
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
    files += entry.is_regular_file();
  }
  return files;
}

TEST_CASE("a write that the system cuts short is an error, keeps the old object and leaves nothing") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a", AsBytes("old")).ok());
  const pid_t child = Fork([&] {
    signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {1000, 1000};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return false;
    const Status status = store->Write("a", std::vector<std::byte>(5000));
    return status.code() == StatusCode::kNoSpace && status.errno_value() == EFBIG &&
           status.message().find(directory / "a") != std::string::npos;
  });
  CHECK(Succeeded(child));
  CHECK(GetFile(directory / "a") == "old");
  CHECK(FilesBelow(directory.path()) == 1);
}

TEST_CASE("a writer killed at any moment leaves the old object or the new one") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  const std::string states[] = {std::string(200'000, 'a'), std::string(300'000, 'b')};
  REQUIRE(store->Write("k", AsBytes(states[0])).ok());
  for (int round = 0; round < 10; ++round) {
    int ready[2];
    REQUIRE(pipe(ready) == 0);
    const pid_t child = Fork([&] {
      for (int i = 0;; ++i) {
        if (!store->Write("k", AsBytes(states[i % 2])).ok()) return false;
        if (i == round && write(ready[1], "x", 1) != 1) return false;
      }
    });
    char byte;
    REQUIRE(read(ready[0], &byte, 1) == 1);
    kill(child, SIGKILL);
    CHECK_FALSE(Succeeded(child));
    close(ready[0]);
    close(ready[1]);
    const std::string text = GetFile(directory / "k");
    CHECK((text == states[0] || text == states[1]));
    const auto entries = store->List("");
    REQUIRE(entries.ok());
    CHECK(entries->size() == 1);
  }
}

TEST_CASE("a file that shrinks while it is read has changed, and is not filled up") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a", std::vector<std::byte>(300'000)).ok());
  // Two parts of one file, read one after the other: it is cut when the first is delivered.
  std::vector<ReadOp> ops = {Op("a", ByteRange::Span(0, 100'000)), Op("a", ByteRange::Span(100'000, 100'000))};
  Executor executor(1);
  const Status status = store->ReadBatch(
      ops,
      [&](std::size_t, const ReadResult&) {
        return truncate((directory / "a").c_str(), 150'000) == 0 ? OkStatus() : InternalError("cut");
      },
      executor);
  CHECK(status.code() == StatusCode::kChanged);
  CHECK(status.message().find("[100000, 200000)") != std::string::npos);
  CHECK(status.message().find("150000") != std::string::npos);
  // Read again, it is as it is now.
  const Status again = store->ReadBatch(
      ops, [](std::size_t, const ReadResult&) { return OkStatus(); }, executor);
  CHECK(again.code() == StatusCode::kCorrupt);
}

TEST_CASE("no update is lost between processes that hold the lock, though the document is replaced") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("zarr.json", AsBytes("{}")).ok());
  REQUIRE(store->Write("count", AsBytes("0")).ok());
  std::vector<pid_t> children;
  for (int c = 0; c < 4; ++c) {
    children.push_back(Fork([&, c] {
      for (int i = 0; i < 25; ++i) {
        // Some hold the whole array and replace its document, which is what the lock lies on.
        const bool whole = (c + i) % 5 == 0;
        const auto guard = store->Lock("zarr.json", whole ? kWholeArray : 9);
        if (!guard.ok() || *guard == nullptr) return false;
        const int count = std::stoi(GetFile(directory / "count"));
        if (!store->Write("count", AsBytes(std::to_string(count + 1))).ok()) return false;
        if (whole && !store->Write("zarr.json", AsBytes("{}")).ok()) return false;
      }
      return true;
    }));
  }
  for (const pid_t child : children) CHECK(Succeeded(child));
  CHECK(GetFile(directory / "count") == "100");
}

TEST_CASE("a lock does not outlive its process, nor its guard in one that was forked meanwhile") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("zarr.json", AsBytes("{}")).ok());
  const pid_t killed = Fork([&] {
    const auto guard = store->Lock("zarr.json", 1);
    kill(getpid(), SIGKILL);
    return guard.ok();
  });
  CHECK_FALSE(Succeeded(killed));
  auto guard = store->Lock("zarr.json", 1);
  REQUIRE(guard.ok());
  int hold[2];
  REQUIRE(pipe(hold) == 0);
  // This child keeps the file open until the end of the test.
  const pid_t holder = Fork([&] {
    close(hold[1]);
    char byte;
    return read(hold[0], &byte, 1) == 0;
  });
  guard->reset();
  const pid_t locker = Fork([&] { return store->Lock("zarr.json", 1).ok(); });
  CHECK(Succeeded(locker));
  close(hold[1]);
  CHECK(Succeeded(holder));
  close(hold[0]);
}

TEST_CASE("a forked child that drops a guard does not unlock its parent's lock") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("zarr.json", AsBytes("{}")).ok());
  auto guard = store->Lock("zarr.json", 1);
  REQUIRE(guard.ok());
  CHECK(Succeeded(Fork([&] {
    guard->reset();
    return true;
  })));
  int released[2];
  REQUIRE(pipe(released) == 0);
  const pid_t child = Fork([&] {
    close(released[1]);
    const auto own = store->Lock("zarr.json", 1);
    char byte;
    // The parent writes before it unlocks, so whoever has the lock finds the byte.
    return own.ok() && read(released[0], &byte, 1) == 1;
  });
  close(released[0]);
  std::this_thread::yield();
  REQUIRE(write(released[1], "x", 1) == 1);
  guard->reset();
  CHECK(Succeeded(child));
  close(released[1]);
}

TEST_CASE("a store used before a fork reads in parallel in the child") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  Executor executor(2);
  std::vector<ReadOp> ops;
  for (int k = 0; k < 100; ++k) {
    REQUIRE(store->Write(std::to_string(k), AsBytes(std::to_string(k))).ok());
    ops.push_back(Op(std::to_string(k), ByteRange::Whole()));
    ops.back().sink_cost_ns = 1e6;
  }
  REQUIRE(ReadAll(*store, ops, executor).calls == 100);
  for (int round = 0; round < 3; ++round) {
    CHECK(Succeeded(Fork([&] {
      const Delivered got = ReadAll(*store, ops, executor);
      return got.status.ok() && got.calls == 100 && got.texts.at(42) == "42";
    })));
  }
}

// Read calls of this process so far, or nothing where the system does not count them.
std::optional<uint64_t> ReadCalls() {
  std::ifstream file("/proc/self/io");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("syscr: ", 0) == 0) return std::stoull(line.substr(7));
  }
  return std::nullopt;
}

TEST_CASE("100,000 small ranges of one file cost a few large reads") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  std::string object(10'000'000, ' ');
  for (std::size_t i = 0; i < object.size(); ++i) object[i] = static_cast<char>(i * 31 / 100);
  REQUIRE(store->Write("shard", AsBytes(object)).ok());
  std::vector<ReadOp> ops;
  for (uint64_t i = 0; i < 100'000; ++i) {
    // Every other one of two neighbours is swapped, so that there is something to sort.
    ops.push_back(Op("shard", ByteRange::Span((i ^ 1) * 100, 100)));
  }
  Executor executor(2);
  std::atomic<uint64_t> wrong{0};
  const auto sink = [&](std::size_t i, const ReadResult& result) {
    wrong += AsText(*result.bytes) != std::string_view(object).substr((i ^ 1) * 100, 100);
    return OkStatus();
  };
  const std::optional<uint64_t> before = ReadCalls();
  REQUIRE(store->ReadBatch(ops, sink, executor).ok());
  const std::optional<uint64_t> after = ReadCalls();
  CHECK(wrong == 0);
  if (!before || !after) {
    WARN("not counted: this system has no /proc/self/io");
    return;
  }
  CHECK(*after - *before < 50);
}

}  // namespace
}  // namespace h5zarr
