#include "store/packed_text.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace h5zarr {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
constexpr std::size_t kStepBytes = 1 << 20;

// One of the two formats.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // Takes from the front of `*in` and writes to `room`, as long as there is both; how many bytes it wrote. Nothing
  // where the bytes are none of the format.
  virtual std::optional<std::size_t> Step(std::string_view* in, std::span<char> room) = 0;
  // Whether all that was taken is whole.
  virtual bool at_end() const = 0;
};

class GzipUnpacker : public Unpacker {
 public:
  GzipUnpacker() { ready_ = inflateInit2(&stream_, 16 + MAX_WBITS) == Z_OK; }
  ~GzipUnpacker() override {
    if (ready_) inflateEnd(&stream_);
  }
  GzipUnpacker(const GzipUnpacker&) = delete;
  GzipUnpacker& operator=(const GzipUnpacker&) = delete;

  std::optional<std::size_t> Step(std::string_view* in, std::span<char> room) override {
    if (!ready_) return std::nullopt;
    if (at_end_) {
      if (in->find_first_not_of('\0') == std::string_view::npos) {  // gzip(1) takes that for padding
        *in = {};
        return 0;
      }
      if (inflateReset(&stream_) != Z_OK) return std::nullopt;  // another member follows
    }
    const std::size_t in_bytes = std::min<std::size_t>(in->size(), std::numeric_limits<uInt>::max());
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in->data()));
    stream_.avail_in = static_cast<uInt>(in_bytes);
    stream_.next_out = reinterpret_cast<Bytef*>(room.data());
    stream_.avail_out = static_cast<uInt>(room.size());
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in->remove_prefix(in_bytes - stream_.avail_in);
    at_end_ = result == Z_STREAM_END;
    const bool sound = at_end_ || result == Z_OK || result == Z_BUF_ERROR;  // (there was nothing to take)
    return sound ? std::optional(room.size() - stream_.avail_out) : std::nullopt;
  }
  bool at_end() const override { return at_end_; }

 private:
  z_stream stream_ = {};
  bool ready_ = false;
  bool at_end_ = false;
};

class ZstdUnpacker : public Unpacker {
 public:
  ZstdUnpacker() : stream_(ZSTD_createDStream(), &ZSTD_freeDStream) {}

  std::optional<std::size_t> Step(std::string_view* in, std::span<char> room) override {
    if (stream_ == nullptr) return std::nullopt;
    ZSTD_inBuffer from = {in->data(), in->size(), 0};
    ZSTD_outBuffer to = {room.data(), room.size(), 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &to, &from);
    in->remove_prefix(from.pos);
    at_end_ = result == 0;
    return ZSTD_isError(result) == 0 ? std::optional(to.pos) : std::nullopt;
  }
  bool at_end() const override { return at_end_; }

 private:
  std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream_;
  bool at_end_ = false;
};

struct Unpacked {
  std::string text;
  bool damaged = false;
  bool whole = false;
};

Unpacked Unpack(std::string_view packed, uint64_t most_bytes) {
  std::unique_ptr<Unpacker> unpacker;
  if (packed.starts_with(kGzip)) unpacker = std::make_unique<GzipUnpacker>();
  if (packed.starts_with(kZstd)) unpacker = std::make_unique<ZstdUnpacker>();
  Unpacked result;
  if (unpacker == nullptr) return result;
  std::vector<char> scratch(std::min<uint64_t>(kStepBytes, most_bytes));
  while (result.text.size() < most_bytes && !(packed.empty() && unpacker->at_end())) {
    const std::size_t left_bytes = packed.size();
    const std::size_t room_bytes = std::min<uint64_t>(scratch.size(), most_bytes - result.text.size());
    const std::optional<std::size_t> bytes = unpacker->Step(&packed, std::span(scratch).first(room_bytes));
    result.damaged = !bytes;
    if (result.damaged) break;
    result.text.append(scratch.data(), *bytes);
    if (packed.size() == left_bytes && *bytes == 0) break;  // cut off
  }
  result.whole = packed.empty() && unpacker->at_end();
  return result;
}

}  // namespace

bool IsPackedText(std::string_view beginning) { return beginning.starts_with(kGzip) || beginning.starts_with(kZstd); }

std::string BeginningOfPackedText(std::string_view packed, uint64_t most_bytes) {
  return Unpack(packed, most_bytes).text;
}

Result<std::string> UnpackText(std::string_view packed, uint64_t most_bytes) {
  const std::string_view format = packed.starts_with(kGzip) ? "gzip" : "zstd";
  Unpacked unpacked = Unpack(packed, most_bytes);
  if (unpacked.damaged)
    return CorruptError(std::string(format) + ": damaged behind " + std::to_string(unpacked.text.size()) +
                        " bytes of text");
  if (unpacked.whole) return std::move(unpacked.text);
  if (unpacked.text.size() < most_bytes) {
    return CorruptError(std::string(format) + ": cut off behind " + std::to_string(unpacked.text.size()) +
                        " bytes of text");
  }
  return OutOfRangeError(std::string(format) + ": a text of more than " + std::to_string(most_bytes) + " bytes");
}

}  // namespace h5zarr
