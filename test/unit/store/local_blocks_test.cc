#include "store/local_blocks.h"

#include <fcntl.h>
#include <unistd.h>

#include <random>
#include <string>

#include "catch.h"
#include "store/local_store.h"
#include "unit/store/temp_directory.h"

namespace h5zarr {
namespace {

std::vector<std::byte> Noise(uint64_t size_bytes) {
  std::mt19937_64 rng(size_bytes);
  std::vector<std::byte> bytes(size_bytes);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng());
  return bytes;
}

std::string Text(ByteSpan bytes) { return std::string(AsText(bytes)); }

TEST_CASE("blocks: a file holds what was appended, whatever its pieces and the disk's blocks") {
  TempDirectory directory;
  BlockPool pool;
  const auto content = Noise((13 << 20) + 1234);
  for (const bool direct : {true, false}) {
    for (const uint64_t piece : {uint64_t{100'003}, uint64_t{4} << 20, uint64_t{content.size()}}) {
      const std::string path = directory / "file";
      const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
      REQUIRE(fd >= 0);
      {
        BlockWriter writer(fd, path, direct, &pool);
        for (uint64_t at = 0; at < content.size(); at += piece) {
          const ByteSpan rest = ByteSpan(content).subspan(at);
          REQUIRE(writer.Append(rest.first(std::min<uint64_t>(piece, rest.size()))).ok());
        }
        REQUIRE(writer.Finish().ok());
      }
      close(fd);
      CHECK(GetFile(path) == Text(content));
    }
  }
}

TEST_CASE("blocks: aligned memory is written from where it lies") {
  TempDirectory directory;
  BlockPool pool;
  auto aligned = Buffer::Allocate((9 << 20) + 77, kDirectAlignBytes);
  REQUIRE(aligned.ok());
  const auto content = Noise(aligned->size_bytes());
  std::copy(content.begin(), content.end(), aligned->data());
  const std::string path = directory / "file";
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT, 0666);
  REQUIRE(fd >= 0);
  {
    BlockWriter writer(fd, path, true, &pool);
    REQUIRE(writer.Append(aligned->span()).ok());
    std::fill_n(aligned->data(), aligned->size_bytes(), std::byte{0});  // no longer needed
    REQUIRE(writer.Append(AsBytes("end")).ok());
    REQUIRE(writer.Finish().ok());
  }
  close(fd);
  CHECK(GetFile(path) == Text(content) + "end");
}

TEST_CASE("blocks: a full disk is an error") {
  const int fd = open("/dev/full", O_WRONLY);
  if (fd < 0) return;
  BlockPool pool;
  const std::string path = "/dev/full";
  BlockWriter writer(fd, path, false, &pool);
  const auto content = Noise(5 << 20);
  Status status = writer.Append(content);
  if (status.ok()) status = writer.Finish();
  CHECK(status.code() == StatusCode::kNoSpace);
  close(fd);
}

TEST_CASE("blocks: a store writes large and small objects alike with any way of writing") {
  for (const auto io : {LocalStoreOptions::Io::kDirect, LocalStoreOptions::Io::kUring}) {
    TempDirectory directory;
    LocalStoreOptions options;
    options.io = io;
    const auto store = MakeLocalStore(directory / "s", options);
    for (const uint64_t size_bytes : {0, 10, 4 << 20, (10 << 20) + 1}) {
      const auto content = Noise(size_bytes);
      REQUIRE(store->Write("d/whole", content).ok());
      CHECK(GetFile(directory / "s/d/whole") == Text(content));
      auto writer = store->BeginWrite("d/pieces");
      REQUIRE(writer.ok());
      const uint64_t half = size_bytes / 2;
      REQUIRE((*writer)->Append(ByteSpan(content).first(half)).ok());
      REQUIRE((*writer)->Append(ByteSpan(content).subspan(half)).ok());
      REQUIRE((*writer)->Commit().ok());
      CHECK(GetFile(directory / "s/d/pieces") == Text(content));
    }
    const auto entries = store->List("d");
    REQUIRE(entries.ok());
    CHECK(entries->size() == 2);
  }
}

}  // namespace
}  // namespace h5zarr
