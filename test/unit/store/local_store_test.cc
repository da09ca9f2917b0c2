// What is particular to folders: files, links, modes, and what a listing hides.
#include "store/local_store.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "catch.h"
#include "conformance/store/test_stores.h"
#include "store/local_blocks.h"
#include "store/local_read.h"
#include "store/posix_file.h"
#include "store/temp_name.h"
#include "unit/store/temp_directory.h"

namespace h5zarr {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> TextAt(Store& store, const std::string& key) {
  const auto bytes = store.Read(key);
  INFO(bytes.status().message());
  REQUIRE(bytes.ok());
  if (!*bytes) return std::nullopt;
  return std::string(AsText((*bytes)->span()));
}

std::vector<std::string> Tree(const std::string& path) {
  std::vector<std::string> names;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    names.push_back(entry.path().lexically_relative(path));
  }
  std::sort(names.begin(), names.end());
  return names;
}

TEST_CASE("objects are plain files named as their key, without remains") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory / "x.zarr/");
  REQUIRE(store->Write("a/c/0", AsBytes("data")).ok());
  CHECK(GetFile(directory / "x.zarr/a/c/0") == "data");
  CHECK(Tree(directory.path()) == std::vector<std::string>{"x.zarr", "x.zarr/a", "x.zarr/a/c", "x.zarr/a/c/0"});
  CHECK(store->Describe() == "file://" + (directory / "x.zarr"));
}

TEST_CASE("a new object gets its place whatever others did there while it was written") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory / "x.zarr");
  REQUIRE(store->Write("first", AsBytes("may be made in another way than those behind it")).ok());
  const auto begin = [&](const std::string& key) {
    auto writer = store->BeginWrite(key);
    INFO(writer.status().message());
    REQUIRE(writer.ok());
    REQUIRE((*writer)->Append(AsBytes("new")).ok());
    return std::move(*writer);
  };
  SECTION("another wrote it") {
    const auto writer = begin("a/b");
    REQUIRE(store->Write("a/b", AsBytes("other")).ok());
    CHECK(writer->Commit().ok());
  }
  SECTION("its folders were removed") {
    const auto writer = begin("a/b");
    std::error_code why_not;
    fs::remove(directory / "x.zarr/a", why_not);  // (where the file has a name it can't be)
    const Status committed = writer->Commit();
    INFO(committed.message());
    CHECK(committed.ok());
  }
  SECTION("it was not committed") {
    (void)begin("a/c");
    REQUIRE(store->Write("a/b", AsBytes("new")).ok());
  }
  CHECK(TextAt(*store, "a/b") == "new");
  CHECK(Tree(directory / "x.zarr") == std::vector<std::string>{"a", "a/b", "first"});
}

TEST_CASE("a store is made within an existing folder only") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory / "none/x.zarr");
  const Status status = store->Write("a", {});
  CHECK(status.code() == StatusCode::kNotFound);
  CHECK(status.errno_value() == ENOENT);
  CHECK(Tree(directory.path()).empty());
}

TEST_CASE("new files get the process's umask") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  const mode_t before = umask(027);
  const Status status = store->Write("a/b", AsBytes("x"));
  umask(before);
  REQUIRE(status.ok());
  struct stat info;
  REQUIRE(stat((directory / "a/b").c_str(), &info) == 0);
  CHECK((info.st_mode & 0777) == 0640);
}

TEST_CASE("a name as long as the file system allows can be written") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  const std::string name(255, 'n');
  REQUIRE(store->Write(name, AsBytes("x")).ok());
  CHECK(TextAt(*store, name) == "x");
  const Status too_long = store->Write(name + "n", AsBytes("x"));
  CHECK(too_long.code() == StatusCode::kInvalidArgument);
  CHECK(Tree(directory.path()) == std::vector<std::string>{name});
}

TEST_CASE("writing over a folder fails and leaves nothing behind") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  fs::create_directories(directory / "a/b");
  const Status status = store->Write("a", AsBytes("x"));
  CHECK_FALSE(status.ok());
  CHECK(status.message().find("'" + (directory / "a") + "'") != std::string::npos);
  CHECK(Tree(directory.path()) == std::vector<std::string>{"a", "a/b"});
}

TEST_CASE("what a killed writer left is hidden from listings and walks, and goes with its prefix") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a/0", AsBytes("x")).ok());
  PutFile(directory / "a/.h5zarr-123-456.tmp", "half");
  const auto entries = store->List("a");
  REQUIRE(entries.ok());
  REQUIRE(entries->size() == 1);
  CHECK((*entries)[0].name == "0");
  int visits = 0;
  REQUIRE(store
              ->Walk("",
                     [&](std::string_view key, uint64_t) {
                       ++visits;
                       CHECK(key == "a/0");
                       return OkStatus();
                     })
              .ok());
  CHECK(visits == 1);
  REQUIRE(store->DeletePrefix("a").ok());
  CHECK(Tree(directory.path()).empty());
}

TEST_CASE("a key that would be hidden is refused") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  CHECK(store->Write("a/.h5zarr-1-2.tmp", {}).code() == StatusCode::kInvalidArgument);
  CHECK(Tree(directory.path()).empty());
}

TEST_CASE("what is kept below a hidden name is listed only there, and can be moved into view") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write(".h5zarr-1-2.tmp/a", AsBytes("x")).ok());
  CHECK(store->List("")->empty());
  REQUIRE(store->RenamePrefix(".h5zarr-1-2.tmp", "shown").ok());
  CHECK(store->List("shown")->size() == 1);
}

TEST_CASE("a temporary name that an earlier process left is not used again") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a", AsBytes("old")).ok());
  const auto raced = store->BeginWrite("b");
  REQUIRE(raced.ok());
  REQUIRE((*raced)->Append(AsBytes("y")).ok());
  REQUIRE(store->Write("b", AsBytes("other")).ok());
  // Names end in a number that counts up: the next few are taken.
  std::string name = NextTempName();
  const std::size_t dash = name.rfind('-') + 1;
  const uint64_t number = std::stoull(name.substr(dash));
  for (uint64_t i = 1; i <= 5; ++i) {
    PutFile(directory / (name.substr(0, dash) + std::to_string(number + i) + ".tmp"), "theirs");
  }
  SECTION("to replace an object") {
    REQUIRE(store->Write("a", AsBytes("x")).ok());
    CHECK(TextAt(*store, "a") == "x");
  }
  SECTION("to replace one that came while its successor was written") {
    REQUIRE((*raced)->Commit().ok());
    CHECK(TextAt(*store, "b") == "y");
  }
  for (uint64_t i = 1; i <= 5; ++i) {
    CHECK(GetFile(directory / (name.substr(0, dash) + std::to_string(number + i) + ".tmp")) == "theirs");
  }
}

TEST_CASE("a FIFO, socket or device at a key is an error and never waited for") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(mkfifo((directory / "fifo").c_str(), 0666) == 0);
  fs::create_symlink("/dev/zero", directory / "device");
  for (const char* key : {"fifo", "device"}) {
    const auto bytes = store->Read(key);
    CHECK(bytes.status().code() == StatusCode::kCorrupt);
    CHECK(bytes.status().message().find(key) != std::string::npos);
    CHECK(store->ObjectBytes(key).status().code() == StatusCode::kCorrupt);
    CHECK(ReadAll(*store, {Op(key, ByteRange::Span(0, 10))}).status.code() == StatusCode::kCorrupt);
  }
  CHECK(store->List("")->empty());
}

TEST_CASE("linked files and folders are read, listed and walked as if they were there") {
  TempDirectory directory;
  TempDirectory elsewhere;
  PutFile(elsewhere / "chunk", "linked");
  auto store = MakeLocalStore(directory.path());
  fs::create_symlink(elsewhere.path(), directory / "folder");
  fs::create_symlink(elsewhere / "chunk", directory / "file");
  fs::create_symlink(elsewhere / "none", directory / "dangling");
  CHECK(TextAt(*store, "folder/chunk") == "linked");
  CHECK(TextAt(*store, "file") == "linked");
  CHECK(TextAt(*store, "dangling") == std::nullopt);
  const auto entries = store->List("");
  REQUIRE(entries.ok());
  REQUIRE(entries->size() == 2);
  CHECK((*entries)[0].name == "file");
  CHECK((*entries)[1].is_prefix);
  std::vector<std::string> keys;
  REQUIRE(store
              ->Walk("",
                     [&](std::string_view key, uint64_t bytes) {
                       CHECK(bytes == 6);
                       keys.emplace_back(key);
                       return OkStatus();
                     })
              .ok());
  std::sort(keys.begin(), keys.end());
  CHECK(keys == std::vector<std::string>{"file", "folder/chunk"});
}

TEST_CASE("a link to a folder above does not send a walk round in circles") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a/b/x", AsBytes("1")).ok());
  fs::create_directory_symlink(directory / "a", directory / "a/b/up");
  int visits = 0;
  REQUIRE(store
              ->Walk("",
                     [&](std::string_view, uint64_t) {
                       ++visits;
                       return OkStatus();
                     })
              .ok());
  CHECK(visits == 1);
}

TEST_CASE("removing a prefix removes links, never what they lead to") {
  TempDirectory directory;
  TempDirectory elsewhere;
  PutFile(elsewhere / "precious", "1");
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a/x", AsBytes("1")).ok());
  fs::create_directory_symlink(elsewhere.path(), directory / "a/folder");
  fs::create_directory_symlink(elsewhere.path(), directory / "link");
  REQUIRE(store->DeletePrefix("a").ok());
  REQUIRE(store->DeletePrefix("link").ok());
  CHECK(Tree(directory.path()).empty());
  fs::create_directory_symlink(elsewhere.path(), directory / "again");
  REQUIRE(store->DeletePrefix("").ok());
  CHECK_FALSE(fs::exists(directory.path()));
  CHECK(GetFile(elsewhere / "precious") == "1");
}

TEST_CASE("a store that is reached through a link is emptied, the link stays usable") {
  TempDirectory directory;
  fs::create_directory(directory / "real");
  fs::create_directory_symlink(directory / "real", directory / "x.zarr");
  auto store = MakeLocalStore(directory / "x.zarr");
  REQUIRE(store->Write("a/b", AsBytes("1")).ok());
  REQUIRE(store->DeletePrefix("").ok());
  CHECK(Tree(directory.path()) == std::vector<std::string>{"real", "x.zarr"});
  REQUIRE(store->Write("a/b", AsBytes("2")).ok());
  CHECK(GetFile(directory / "real/a/b") == "2");
}

TEST_CASE("deleting a linked object removes the link, a link to a folder is no object") {
  TempDirectory directory;
  TempDirectory elsewhere;
  PutFile(elsewhere / "chunk", "1");
  fs::create_symlink(elsewhere / "chunk", directory / "file");
  fs::create_directory_symlink(elsewhere.path(), directory / "folder");
  auto store = MakeLocalStore(directory.path());
  CHECK(*store->Delete("file"));
  CHECK_FALSE(*store->Delete("folder"));
  CHECK(GetFile(elsewhere / "chunk") == "1");
  CHECK(Tree(directory.path()) == std::vector<std::string>{"folder"});
}

TEST_CASE("a store that is open for reading changes nothing") {
  TempDirectory directory;
  PutFile(directory / "zarr.json", "{}");
  LocalStoreOptions options;
  options.read_only = true;
  auto store = MakeLocalStore(directory.path(), options);
  CHECK(store->read_only());
  const auto refused = [](const Status& status) {
    return status.code() == StatusCode::kPermissionDenied && status.errno_value() == EACCES;
  };
  CHECK(refused(store->Write("a", {})));
  CHECK(refused(store->Delete("zarr.json").status()));
  CHECK(refused(store->DeletePrefix("")));
  CHECK(refused(store->RenamePrefix("a", "b")));
  CHECK(refused(store->Lock("zarr.json", 1).status()));
  CHECK(TextAt(*store, "zarr.json") == "{}");
  CHECK(Tree(directory.path()) == std::vector<std::string>{"zarr.json"});
}

TEST_CASE("what the system forbids is an error with its errno, never absence") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  PutFile(directory / "secret", "1");
  REQUIRE(chmod(directory.path().c_str(), 0) == 0);
  // In a child, as a user whom modes concern.
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const bool refused =
        store->Read("secret").status().errno_value() == EACCES && store->Write("new", {}).errno_value() == EACCES &&
        store->ObjectBytes("secret").status().errno_value() == EACCES &&
        store->List("").status().errno_value() == EACCES && store->Delete("secret").status().errno_value() == EACCES;
    _exit(refused ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  REQUIRE(chmod(directory.path().c_str(), 0700) == 0);
}

TEST_CASE("a replaced file keeps its permissions and its owner") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  const std::string path = directory / "a";
  PutFile(path, "1");
  REQUIRE(chmod(path.c_str(), 0604) == 0);
  const bool is_root = geteuid() == 0;
  if (is_root) REQUIRE(chown(path.c_str(), 65534, 65533) == 0);
  Generation there;
  for (int way = 0; way < 3; ++way) {
    REQUIRE(store->Read("a", &there).ok());
    if (way == 0) REQUIRE(store->Write("a", AsBytes("22")).ok());
    if (way == 1) REQUIRE(*store->Replace("a", AsBytes("333"), there));
    if (way == 2) {
      auto writer = store->BeginWrite("a");
      REQUIRE(((*writer)->Append(AsBytes("4444")).ok() && (*writer)->Commit().ok()));
    }
    struct stat info;
    REQUIRE(stat(path.c_str(), &info) == 0);
    CHECK((info.st_mode & 07777) == 0604);
    CHECK(static_cast<int>(info.st_size) == way + 2);
    if (is_root) CHECK((info.st_uid == 65534 && info.st_gid == 65533));
  }
}

TEST_CASE("a write goes through a symbolic link to what it leads to") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory / "store");
  REQUIRE((mkdir((directory / "store").c_str(), 0777) == 0 && mkdir((directory / "else").c_str(), 0777) == 0));
  PutFile(directory / "else/a", "1");
  REQUIRE(symlink("../else/b", (directory / "store/link").c_str()) == 0);
  REQUIRE(symlink("a", (directory / "else/b").c_str()) == 0);
  REQUIRE(symlink((directory / "else/new").c_str(), (directory / "store/dangling").c_str()) == 0);
  REQUIRE(symlink("circle", (directory / "store/circle").c_str()) == 0);
  REQUIRE(store->Write("link", AsBytes("22")).ok());
  CHECK(GetFile(directory / "else/a") == "22");
  Generation there;
  REQUIRE(store->Read("link", &there).ok());
  CHECK(*store->Replace("link", AsBytes("333"), there));
  CHECK(GetFile(directory / "else/a") == "333");
  CHECK_FALSE(*store->WriteNew("link", AsBytes("4")));
  CHECK(*store->WriteNew("dangling", AsBytes("5")));
  CHECK(GetFile(directory / "else/new") == "5");
  CHECK(std::filesystem::is_symlink(directory / "store/link"));
  CHECK(std::filesystem::is_symlink(directory / "else/b"));
  // Nothing but the objects is left in either folder.
  CHECK(Tree(directory / "else") == std::vector<std::string>{"a", "b", "new"});
}

TEST_CASE("a folder that cannot be renamed stays as it is, and what cannot be deleted is named") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE((store->Write("g/a/1", AsBytes("1")).ok() && store->Write("h/locked/1", AsBytes("1")).ok()));
  REQUIRE(chmod(directory.path().c_str(), 0755) == 0);
  REQUIRE(chmod((directory / "h/locked").c_str(), 0555) == 0);
  for (const char* path : {"g", "g/a", "h"}) {
    if (geteuid() == 0) REQUIRE(chown((directory / path).c_str(), 65534, 65534) == 0);
  }
  // In a child, as a user whom modes concern.
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const Status refused = store->DeletePrefix("g");  // the folder around it is not this user's
    _exit(refused.errno_value() == EACCES && *store->ObjectBytes("g/a/1") == 1u ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  const bool is_other = geteuid() == 0;
  if (is_other) CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  REQUIRE(chmod(directory.path().c_str(), 0777) == 0);
  const pid_t second = fork();
  if (second == 0) {
    if (geteuid() == 0 && setuid(65534) != 0) _exit(2);
    const Status left = store->DeletePrefix("h");
    const bool is_said = left.errno_value() == EACCES && left.message().find("h' is gone, but") != std::string::npos &&
                         left.message().find(".h5zarr-") != std::string::npos;
    _exit(is_said && store->List("h")->empty() && store->List("")->size() == 1 ? 0 : 1);
  }
  REQUIRE(waitpid(second, &status, 0) == second);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  for (const auto& entry : std::filesystem::directory_iterator(directory.path())) {
    std::filesystem::permissions(entry.path(), std::filesystem::perms::owner_all);
    const auto locked = entry.path() / "locked";
    if (std::filesystem::exists(locked)) std::filesystem::permissions(locked, std::filesystem::perms::owner_all);
  }
}

TEST_CASE("names that are made durable later are those of a writable store and of folders that are there") {
  TempDirectory directory;
  const auto store = MakeLocalStore(directory / "x.zarr", {.durable = true});
  REQUIRE(store->WriteNamedLater("a/k", AsBytes("1")).ok());
  CHECK(store->SyncNames(std::vector<std::string>{"missing"}).message().find("missing") != std::string::npos);
  const auto reader = MakeLocalStore(directory / "x.zarr", {.read_only = true});
  CHECK(reader->WriteNamedLater("k", AsBytes("1")).code() == StatusCode::kPermissionDenied);
}

TEST_CASE("ranges that lie side by side, in the object and in memory, are each what is there") {
  TempDirectory directory;
  const auto store = MakeLocalStore(directory / "x.zarr");
  std::string text;
  for (int i = 0; i < 3000; ++i) text += static_cast<char>('a' + i % 23);
  REQUIRE(store->Write("k", AsBytes(text)).ok());
  // The third is elsewhere in memory, before the fifth is a gap in the object.
  std::vector<std::byte> memory(3000);
  const uint64_t offsets[] = {0, 100, 200, 300, 500}, places[] = {0, 100, 1000, 1100, 1200};
  std::vector<ReadOp> ops(5);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].key = "k";
    ops[i].range = ByteRange::Span(offsets[i], 100);
    ops[i].target = MutableByteSpan(memory).subspan(places[i], 100);
  }
  const bool only_joint = GENERATE(false, true);
  if (only_joint) ops.resize(2);
  std::vector<int> told(ops.size());
  Executor executor(1);
  REQUIRE(store
              ->ReadBatch(
                  ops,
                  [&](std::size_t i, const ReadResult& result) {
                    ++told[i];
                    CHECK(AsText(*result.bytes) == text.substr(offsets[i], 100));
                    CHECK(result.bytes->data() == ops[i].target.data());
                    return OkStatus();
                  },
                  executor)
              .ok());
  CHECK(told == std::vector<int>(ops.size(), 1));
}

TEST_CASE("a file changed in place has another generation") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  REQUIRE(store->Write("a", AsBytes("one")).ok());
  Generation before;
  REQUIRE(store->Read("a", &before).ok());
  struct timespec times[2] = {{0, UTIME_OMIT}, {12345, 678}};
  REQUIRE(utimensat(AT_FDCWD, (directory / "a").c_str(), times, 0) == 0);
  Generation after;
  REQUIRE(store->Read("a", &after).ok());
  CHECK_FALSE(before == after);
}

// Files that somebody writes into, or replaces, right after they were opened.
class RestlessFiles final : public ObjectFiles {
 public:
  RestlessFiles(std::string folder, std::function<void(const std::string&)> meanwhile)
      : folder_(std::move(folder)), meanwhile_(std::move(meanwhile)) {}
  std::string PathOf(const std::string& key) const override { return folder_ + "/" + key; }
  Result<std::optional<OpenObject>> Open(const std::string& path) const override {
    auto object = OpenForReading(path, WhenBlocked::kError);
    meanwhile_(path);
    return object;
  }

 private:
  const std::string folder_;
  const std::function<void(const std::string&)> meanwhile_;
};

TEST_CASE("a file that is written in place while it is read is changed, a replaced one is not") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  const auto write_in_place = [](const std::string& path) { std::ofstream(path) << "another"; };
  const auto replace = [&](const std::string&) { REQUIRE(store->Write("a", AsBytes("another")).ok()); };
  Executor executor(1);
  ScratchPool scratch(1 << 10);
  char target[4];
  for (const bool in_place : {true, false}) {
    for (const ByteRange range : {ByteRange::Whole(), ByteRange::Span(0, 4)}) {
      REQUIRE(store->Write("a", AsBytes("before")).ok());
      const RestlessFiles files(directory.path(),
                                in_place ? std::function<void(const std::string&)>(write_in_place) : replace);
      ReadOp op = Op("a", range);
      if (range.kind == ByteRange::Kind::kSpan) op.target = std::as_writable_bytes(std::span(target));
      std::string found;
      const auto sink = [&](std::size_t, const ReadResult& result) {
        found = AsText(*result.bytes);
        return OkStatus();
      };
      const Status status = ReadFiles(files, {}, scratch, {&op, 1}, sink, executor);
      CHECK(status.code() == (in_place ? StatusCode::kChanged : StatusCode::kOk));
      if (!in_place) CHECK(std::string("before").starts_with(found));
    }
  }
}

TEST_CASE("a state is settled once the clock has moved on since the file changed") {
  struct timespec now;
  REQUIRE(clock_gettime(CLOCK_REALTIME, &now) == 0);
  struct stat info = {};
  const auto settled = [&](time_t seconds_ago, long nanoseconds) {
    info.st_ctim = {now.tv_sec - seconds_ago, nanoseconds};
    return IsSettled(info);
  };
  CHECK(settled(1, now.tv_nsec));
  CHECK_FALSE(settled(0, now.tv_nsec));
  CHECK_FALSE(settled(-1, now.tv_nsec));
  // Where a file system counts in whole seconds.
  CHECK_FALSE(settled(1, 0));
  CHECK(settled(4, 0));
}

TEST_CASE("a file that has just been written is read as not settled") {
  TempDirectory directory;
  auto store = MakeLocalStore(directory.path());
  Executor executor(1);
  const auto settled = [&] {
    bool answer = true;
    ReadOp op;
    op.key = "a";
    const auto sink = [&](std::size_t, const ReadResult& result) { return answer = result.settled, OkStatus(); };
    REQUIRE(store->ReadBatch({&op, 1}, sink, executor).ok());
    return answer;
  };
  // (A busy machine may be slower than the clock's tick.)
  bool saw_unsettled = false;
  for (int i = 0; i < 100 && !saw_unsettled; ++i) {
    REQUIRE(store->Write("a", AsBytes("one")).ok());
    saw_unsettled = !settled();
  }
  CHECK(saw_unsettled);
  while (!settled()) {
  }
  CHECK(store->StateNow("a")->settled);
}

}  // namespace
}  // namespace h5zarr
