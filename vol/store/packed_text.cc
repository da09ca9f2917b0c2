#include "store/packed_text.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <limits>
#include <memory>

namespace h5zarr {
namespace {

constexpr std::string_view kGzip = "\x1f\x8b";
constexpr std::string_view kZstd = "\x28\xb5\x2f\xfd";
constexpr std::size_t kStepBytes = 1 << 20;

// One of the two formats: takes from the front of `*in` and appends to `*out`, as long as there is both `*in` and room
// for `room_bytes`.
class Unpacker {
 public:
  virtual ~Unpacker() = default;
  // False where the bytes are none of the format.
  virtual bool Step(std::string_view* in, std::string* out, std::size_t room_bytes) = 0;
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

  bool Step(std::string_view* in, std::string* out, std::size_t room_bytes) override {
    if (!ready_ || (at_end_ && inflateReset(&stream_) != Z_OK)) return false;  // another member follows
    const std::size_t before = out->size();
    const std::size_t in_bytes = std::min<std::size_t>(in->size(), std::numeric_limits<uInt>::max());
    out->resize(before + room_bytes);
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(in->data()));
    stream_.avail_in = static_cast<uInt>(in_bytes);
    stream_.next_out = reinterpret_cast<Bytef*>(out->data() + before);
    stream_.avail_out = static_cast<uInt>(room_bytes);
    const int result = inflate(&stream_, Z_NO_FLUSH);
    in->remove_prefix(in_bytes - stream_.avail_in);
    out->resize(before + room_bytes - stream_.avail_out);
    at_end_ = result == Z_STREAM_END;
    return at_end_ || result == Z_OK || result == Z_BUF_ERROR;  // (there was nothing to take)
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

  bool Step(std::string_view* in, std::string* out, std::size_t room_bytes) override {
    if (stream_ == nullptr) return false;
    const std::size_t before = out->size();
    out->resize(before + room_bytes);
    ZSTD_inBuffer from = {in->data(), in->size(), 0};
    ZSTD_outBuffer to = {out->data() + before, room_bytes, 0};
    const std::size_t result = ZSTD_decompressStream(stream_.get(), &to, &from);
    in->remove_prefix(from.pos);
    out->resize(before + to.pos);
    at_end_ = result == 0;
    return ZSTD_isError(result) == 0;
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
  while (result.text.size() < most_bytes && !(packed.empty() && unpacker->at_end())) {
    const std::size_t left_bytes = packed.size(), text_bytes = result.text.size();
    const std::size_t room_bytes = std::min<uint64_t>(kStepBytes, most_bytes - text_bytes);
    result.damaged = !unpacker->Step(&packed, &result.text, room_bytes);
    const bool idle = packed.size() == left_bytes && result.text.size() == text_bytes;  // cut off
    if (result.damaged || idle) break;
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
