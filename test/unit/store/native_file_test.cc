// Ranges of a file that is open, with an index behind it.
#include "store/native_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>

#include "catch.h"
#include "unit/store/temp_directory.h"

namespace h5zarr {
namespace {

struct OpenNative {
  TempDirectory directory;
  std::string path = directory / "file.h5";
  int fd = -1;
  Executor executor{1};
  explicit OpenNative(const std::string& text) {
    PutFile(path, text);
    fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  ~OpenNative() { close(fd); }

  Status Read(Store& store, ByteRange range, std::string* text, uint64_t* object_bytes = nullptr) {
    ReadOp op;
    op.key = "c/0";
    op.range = range;
    return store.ReadBatch(
        {&op, 1},
        [&](std::size_t, const ReadResult& result) {
          text->assign(AsText(*result.bytes));
          if (object_bytes != nullptr) *object_bytes = result.object_bytes;
          return OkStatus();
        },
        executor);
  }
};

TEST_CASE("ranges are the file's, the last bytes the index") {
  OpenNative file("0123456789");
  const auto described = BytesOfOpenFile(file.path, file.fd);
  REQUIRE(described.ok());
  const auto store = MakeNativeFileStore(*described, *Buffer::CopyOf(AsBytes("index")));
  std::string text;
  uint64_t object_bytes = 0;
  REQUIRE(file.Read(*store, ByteRange::Span(3, 4), &text).ok());
  CHECK(text == "3456");
  REQUIRE(file.Read(*store, ByteRange::Suffix(5), &text, &object_bytes).ok());
  CHECK(text == "index");
  CHECK(object_bytes == 15);
  CHECK(file.Read(*store, ByteRange::Span(8, 4), &text).code() == StatusCode::kCorrupt);
  CHECK(file.Read(*store, ByteRange::Whole(), &text).code() == StatusCode::kUnsupported);
  CHECK(store->Write("c/0", AsBytes("x")).code() == StatusCode::kUnsupported);
}

TEST_CASE("the open file is read though another has its name") {
  OpenNative file("old");
  const auto store = MakeNativeFileStore(*BytesOfOpenFile(file.path, file.fd), {});
  std::filesystem::remove(file.path);
  PutFile(file.path, "new");
  std::string text;
  // (That it was unlinked is a change of its state: whoever asks is to look at it again.)
  CHECK(file.Read(*store, ByteRange::Span(0, 3), &text).code() == StatusCode::kChanged);
  const auto again = MakeNativeFileStore(*BytesOfOpenFile(file.path, file.fd), {});
  REQUIRE(file.Read(*again, ByteRange::Span(0, 3), &text).ok());
  CHECK(text == "old");
}

TEST_CASE("a file that has been written to since is changed") {
  OpenNative file("0123456789");
  const auto store = MakeNativeFileStore(*BytesOfOpenFile(file.path, file.fd), {});
  PutFile(file.path, "0123456789x");
  std::string text;
  CHECK(file.Read(*store, ByteRange::Span(0, 3), &text).code() == StatusCode::kChanged);
}

TEST_CASE("what is no regular file is not described") {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  CHECK_FALSE(BytesOfOpenFile("pipe", ends[0]).ok());
  close(ends[0]);
  close(ends[1]);
  CHECK_FALSE(BytesOfOpenFile("none", -1).ok());
}

}  // namespace
}  // namespace h5zarr
