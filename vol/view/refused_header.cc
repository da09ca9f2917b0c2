#include "view/refused_header.h"

#include <array>
#include <cstring>
#include <string_view>

#include "base/buffer.h"
#include "codec/lookup3.h"

// The file format is HDF5's: "File Format Specification", IV.A.1.b (object headers of version 2), IV.A.2 (shared
// messages).
namespace h5zarr::view {
namespace {

constexpr std::string_view kMagic = "OHDR";
constexpr std::size_t kPrefixBytes = 6;  // magic, version, flags
constexpr std::size_t kChecksumBytes = 4;
constexpr unsigned kHasOrder = 0x04, kHasPhases = 0x10, kHasTimes = 0x20;
constexpr std::byte kNothing{0x00}, kDatatype{0x03}, kLinkCount{0x16};
constexpr std::byte kShared{0x02};  // a flag
constexpr std::byte kSharedVersion{3}, kInAnotherHeader{2};
constexpr std::size_t kSharedBytes = 2 + 8;
constexpr std::size_t kCountBytes = 1 + 4;

void PutNumber(std::byte* to, uint64_t number, std::size_t bytes) {
  for (std::size_t i = 0; i < bytes; ++i) to[i] = static_cast<std::byte>(number >> (8 * i));
}

uint64_t GetNumber(const std::byte* from, std::size_t bytes) {
  uint64_t number = 0;
  for (std::size_t i = bytes; i > 0; --i) number = number << 8 | std::to_integer<uint64_t>(from[i - 1]);
  return number;
}

// Writes messages of an object header one behind the other.
class MessageWriter {
 public:
  MessageWriter(MutableByteSpan to, bool has_order) : to_(to), head_bytes_(has_order ? 6 : 4) {}

  bool Fits(std::size_t data_bytes) const { return to_.size() - at_ >= head_bytes_ + data_bytes; }
  // REQUIRES: it fits. Returns where the message's data go.
  std::byte* Begin(std::byte type, std::byte flags, std::size_t data_bytes) {
    std::byte* const message = to_.data() + at_;
    message[0] = type;
    PutNumber(message + 1, data_bytes, 2);
    message[3] = flags;
    at_ += head_bytes_ + data_bytes;
    return message + head_bytes_;
  }
  // What is left says nothing; less than a message's head is zeros.
  void End() {
    if (Fits(0)) Begin(kNothing, std::byte{0}, to_.size() - at_ - head_bytes_);
  }

 private:
  const MutableByteSpan to_;
  const std::size_t head_bytes_;
  std::size_t at_ = 0;
};

}  // namespace

Result<bool> LeadElsewhere(uint64_t at, uint64_t elsewhere, uint32_t links, SparseBytes* bytes) {
  std::array<std::byte, kPrefixBytes + 16 + 4 + 8> head{};
  bytes->Read(at, head);
  if (std::memcmp(head.data(), kMagic.data(), kMagic.size()) != 0 || head[4] != std::byte{2}) return false;
  const auto flags = std::to_integer<unsigned>(head[5]);
  const std::size_t width = std::size_t{1} << (flags & 3);
  const std::size_t before = kPrefixBytes + ((flags & kHasTimes) != 0 ? 16 : 0) + ((flags & kHasPhases) != 0 ? 4 : 0);
  const uint64_t messages_bytes = GetNumber(head.data() + before, width);
  if (messages_bytes > UINT16_MAX) return false;
  H5ZARR_ASSIGN_OR_RETURN(Buffer header, Buffer::Allocate(before + width + messages_bytes + kChecksumBytes));
  const MutableByteSpan all = header.span();
  std::memset(all.data(), 0, all.size());
  std::memcpy(all.data(), head.data(), before + width);
  MessageWriter messages(all.subspan(before + width, messages_bytes), (flags & kHasOrder) != 0);
  if (!messages.Fits(kSharedBytes)) return false;
  std::byte* const type = messages.Begin(kDatatype, kShared, kSharedBytes);
  type[0] = kSharedVersion;
  type[1] = kInAnotherHeader;
  PutNumber(type + 2, elsewhere, 8);
  if (links > 1) {
    if (!messages.Fits(kCountBytes)) return false;
    PutNumber(messages.Begin(kLinkCount, std::byte{0}, kCountBytes) + 1, links, 4);
  }
  messages.End();
  const uint32_t checksum = codec::Lookup3(all.first(all.size() - kChecksumBytes), 0);
  PutNumber(all.data() + all.size() - kChecksumBytes, checksum, kChecksumBytes);
  H5ZARR_RETURN_IF_ERROR(bytes->Write(at, all));
  return true;
}

}  // namespace h5zarr::view
