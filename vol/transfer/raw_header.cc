#include "transfer/raw_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/checked.h"
#include "codec/lookup3.h"
#include "transfer/byte_cursor.h"

// The file format is HDF5's: "File Format Specification", III.C (global heap), IV.A (object headers).
namespace h5zarr::transfer {
namespace {

constexpr std::size_t kAddressBytes = 8;
constexpr uint64_t kUndefined = UINT64_MAX;
constexpr std::string_view kHeaderMagic = "OHDR", kNextMagic = "OCHK", kHeapMagic = "GCOL";
constexpr std::size_t kMagicBytes = 4, kChecksumBytes = 4;
constexpr uint64_t kDataspace = 0x01, kDatatype = 0x03, kFill = 0x05, kLayout = 0x08, kContinuation = 0x10;
constexpr uint64_t kSharedMessage = 0x02;
constexpr uint64_t kVirtualClass = 3;
// Of a header: more has none that versioned-hdf5 makes.
constexpr std::size_t kMostBlocks = 64;
constexpr uint64_t kMostBlockBytes = 64 << 20;
// Most headers are not longer, so that one read gets all.
constexpr uint64_t kFirstBytes = 1024;

Status ForHdf5(const char* what) { return UnsupportedError(std::string("its header: ") + what); }

// Whether the last bytes of `bytes` are the checksum of the others.
bool HasChecksum(ByteSpan bytes) {
  if (bytes.size() < kChecksumBytes) return false;
  ByteCursor stored(bytes.last(kChecksumBytes));
  return stored.Number(kChecksumBytes) == codec::Lookup3(bytes.first(bytes.size() - kChecksumBytes), 0);
}

}  // namespace

// What the blocks of a header had so far.
struct RawHeaders::Found {
  int version = 1;
  bool has_order = false;  // version 2: messages say when they were made
  std::optional<VirtualHeader> dataspace;
  std::optional<std::pair<uint64_t, uint64_t>> mappings;  // address and number in the heap
  std::vector<std::pair<uint64_t, uint64_t>> blocks;      // to be read: address and length
  RawElement element;
  bool of_any_layout = false;

  Status TakeMessages(ByteSpan bytes);
  Status TakeMessage(uint64_t type, uint64_t flags, ByteSpan data);
  Status TakeDataspace(ByteCursor data);
  Status TakeLayout(ByteCursor data);
  void TakeFill(ByteCursor data);
};

Status RawHeaders::Found::TakeMessages(ByteSpan bytes) {
  ByteCursor cursor(bytes);
  const std::size_t head_bytes = version == 1 ? 8 : has_order ? 6 : 4;
  while (cursor.left() >= head_bytes) {
    const uint64_t type = cursor.Number(version == 1 ? 2 : 1);
    const uint64_t length = cursor.Number(2);
    const uint64_t flags = cursor.Number(1);
    cursor.Take(version == 1 ? 3 : has_order ? 2 : 0);
    const ByteSpan data = cursor.Take(length);
    if (!cursor.ok()) return ForHdf5("a message that ends early");
    H5ZARR_RETURN_IF_ERROR(TakeMessage(type, flags, data));
  }
  return OkStatus();
}

Status RawHeaders::Found::TakeMessage(uint64_t type, uint64_t flags, ByteSpan data) {
  const bool is_shared = (flags & kSharedMessage) != 0;
  ByteCursor cursor(data);
  switch (type) {
    case kDatatype:
      if (!is_shared) element.type.assign(data.begin(), data.end());
      return OkStatus();
    case kFill:
      if (!is_shared) TakeFill(cursor);
      return OkStatus();
    case kDataspace: return is_shared ? ForHdf5("a shared message") : TakeDataspace(cursor);
    case kLayout:
      if (of_any_layout) return OkStatus();
      return is_shared ? ForHdf5("a shared message") : TakeLayout(cursor);
    case kContinuation: {
      if (is_shared) return ForHdf5("a shared message");
      const uint64_t address = cursor.Number(kAddressBytes);
      blocks.emplace_back(address, cursor.Number(8));
      return cursor.ok() ? OkStatus() : ForHdf5("a message that ends early");
    }
    default: return OkStatus();
  }
}

Status RawHeaders::Found::TakeLayout(ByteCursor data) {
  const uint64_t layout_version = data.Number(1);
  if (data.Number(1) != kVirtualClass || layout_version != 4) return ForHdf5("another layout");
  const uint64_t address = data.Number(kAddressBytes);
  mappings = {address, data.Number(4)};
  return data.ok() ? OkStatus() : ForHdf5("a message that ends early");
}

// When space is allocated, and fill written, is no business of what it is.
void RawHeaders::Found::TakeFill(ByteCursor data) {
  constexpr uint64_t kHasNone = 0x10, kHasValue = 0x20;
  const uint64_t fill_version = data.Number(1);
  uint64_t bytes = 0;
  if (fill_version == 3) {
    const uint64_t flags = data.Number(1);
    if ((flags & kHasNone) != 0) return;
    if ((flags & kHasValue) != 0) bytes = data.Number(4);
  } else {
    data.Take(2);
    if (fill_version != 2 || data.Number(1) == 0) return;
    bytes = data.Number(4);
  }
  const ByteSpan value = data.Take(bytes);
  if (!data.ok()) return;
  // (HDF5's own fill is zeros.)
  const bool is_zero = std::ranges::all_of(value, [](std::byte byte) { return byte == std::byte{0}; });
  element.fill_bytes = is_zero ? 0 : bytes;
  if (!is_zero) element.fill.assign(value.begin(), value.end());
}

Status RawHeaders::Found::TakeDataspace(ByteCursor data) {
  const uint64_t space_version = data.Number(1);
  const uint64_t rank = data.Number(1);
  const bool has_max = (data.Number(1) & 1) != 0;
  const uint64_t kind = data.Number(1);  // of version 2: simple is 1
  if (space_version != 1 && !(space_version == 2 && kind == 1)) return ForHdf5("another dataspace");
  if (space_version == 1) data.Take(4);
  if (rank > H5S_MAX_RANK) return ForHdf5("its rank");
  VirtualHeader space;
  for (uint64_t i = 0; i < rank; ++i) space.extent.push_back(data.Number(8));
  for (uint64_t i = 0; has_max && i < rank; ++i) space.max_extent.push_back(data.Number(8));
  if (!has_max) space.max_extent = space.extent;
  if (!data.ok()) return ForHdf5("a dataspace that ends early");
  dataspace = std::move(space);
  return OkStatus();
}

Result<RawHeaders> RawHeaders::Of(std::shared_ptr<FileBytes> bytes) {
  constexpr std::string_view kSignature = "\x89HDF\r\n\x1a\n";
  constexpr uint64_t kHeadBytes = 40;
  const RawHeaders headers(std::move(bytes));
  H5ZARR_ASSIGN_OR_RETURN(const Buffer head, headers.ReadAt(0, kHeadBytes));
  ByteCursor cursor(head);
  if (AsText(cursor.Take(kSignature.size())) != kSignature) return ForHdf5("the file begins elsewhere");
  const uint64_t superblock = cursor.Number(1);
  if (superblock > 3) return ForHdf5("a file of a later version");
  if (superblock < 2) cursor.Take(4);
  const uint64_t address_bytes = cursor.Number(1), length_bytes = cursor.Number(1);
  cursor.Take(superblock == 0 ? 9 : superblock == 1 ? 13 : 1);
  const uint64_t base = cursor.Number(kAddressBytes);
  if (address_bytes != kAddressBytes || length_bytes != 8 || base != 0) return ForHdf5("addresses of another kind");
  return headers;
}

Result<Buffer> RawHeaders::ReadAt(uint64_t address, uint64_t length) const {
  const auto end = CheckedAdd(address, length);
  if (!end || *end > bytes_->file_bytes()) return ForHdf5("an address beyond the file's end");
  H5ZARR_ASSIGN_OR_RETURN(Buffer bytes, Buffer::Allocate(length));
  ReadOp op;
  op.key = "file";
  op.range = ByteRange::Span(address, length);
  op.target = bytes.span();
  Executor here(1);
  H5ZARR_RETURN_IF_ERROR(bytes_->ReadRanges(
      {&op, 1}, [](std::size_t, const ReadResult&) { return OkStatus(); }, here));
  return bytes;
}

// The first block, which begins with what the header is.
Status RawHeaders::ReadFirst(uint64_t address, Found* found) const {
  if (address >= bytes_->file_bytes()) return ForHdf5("an address beyond the file's end");
  H5ZARR_ASSIGN_OR_RETURN(Buffer head, ReadAt(address, std::min(kFirstBytes, bytes_->file_bytes() - address)));
  ByteCursor cursor(head);
  if (AsText(head.span().first(std::min(kMagicBytes, head.size_bytes()))) == kHeaderMagic) {
    cursor.Take(kMagicBytes);
    if (cursor.Number(1) != 2) return ForHdf5("another version");
    found->version = 2;
    const uint64_t flags = cursor.Number(1);
    found->has_order = (flags & 0x04) != 0;
    cursor.Take((flags & 0x20) != 0 ? 16 : 0);  // times
    cursor.Take((flags & 0x10) != 0 ? 4 : 0);   // when attributes go elsewhere
  } else {
    if (cursor.Number(1) != 1) return ForHdf5("another version");
    cursor.Take(7);
  }
  const bool later = found->version == 2;
  const std::size_t size_bytes = later ? std::size_t{1} << (std::to_integer<uint8_t>(head.span()[5]) & 3) : 4;
  const uint64_t messages_bytes = cursor.Number(size_bytes);
  if (!later) cursor.Take(4);  // to a multiple of 8
  if (!cursor.ok() || messages_bytes > kMostBlockBytes) return ForHdf5("its size");
  const uint64_t before = head.size_bytes() - cursor.left();
  const uint64_t all = before + messages_bytes + (later ? kChecksumBytes : 0);
  if (all > head.size_bytes()) {
    H5ZARR_ASSIGN_OR_RETURN(head, ReadAt(address, all));
  }
  head.Shrink(all);
  if (later && !HasChecksum(head)) return ForHdf5("its checksum");
  return found->TakeMessages(head.span().subspan(before, messages_bytes));
}

Status RawHeaders::ReadNext(uint64_t address, uint64_t length, Found* found) const {
  if (length > kMostBlockBytes) return ForHdf5("its size");
  H5ZARR_ASSIGN_OR_RETURN(const Buffer block, ReadAt(address, length));
  if (found->version == 1) return found->TakeMessages(block);
  if (length < kMagicBytes + kChecksumBytes || AsText(block.span().first(kMagicBytes)) != kNextMagic ||
      !HasChecksum(block)) {
    return ForHdf5("its checksum");
  }
  return found->TakeMessages(block.span().subspan(kMagicBytes, length - kMagicBytes - kChecksumBytes));
}

Result<Buffer> RawHeaders::ReadHeap(uint64_t address, uint64_t number) const {
  constexpr std::size_t kHeadBytes = 16;
  H5ZARR_ASSIGN_OR_RETURN(const Buffer head, ReadAt(address, kHeadBytes));
  ByteCursor cursor(head);
  const bool is_heap = AsText(cursor.Take(kMagicBytes)) == kHeapMagic && cursor.Number(1) == 1;
  cursor.Take(3);
  const uint64_t heap_bytes = cursor.Number(8);
  if (!is_heap || heap_bytes < kHeadBytes) return ForHdf5("its heap");
  H5ZARR_ASSIGN_OR_RETURN(const Buffer heap, ReadAt(address, heap_bytes));
  ByteCursor objects(heap.span().subspan(kHeadBytes));
  while (objects.left() >= kHeadBytes) {
    const uint64_t found = objects.Number(2);
    objects.Take(6);
    const uint64_t length = objects.Number(8);
    if (found == 0) break;  // what is free is last
    if (length > objects.left()) break;
    const ByteSpan data = objects.Take(length);
    if (found == number) return Buffer::CopyOf(data);
    objects.Take(std::min<std::size_t>((8 - length % 8) % 8, objects.left()));
  }
  return ForHdf5("its heap has no such object");
}

Status RawHeaders::ReadBlocks(const H5O_token_t& token, Found* found) const {
  ByteCursor address(std::as_bytes(std::span(token.__data)));
  H5ZARR_RETURN_IF_ERROR(ReadFirst(address.Number(kAddressBytes), found));
  for (std::size_t next = 0; next < found->blocks.size(); ++next) {
    if (next >= kMostBlocks) return ForHdf5("its blocks do not end");
    const auto [block, length] = found->blocks[next];
    H5ZARR_RETURN_IF_ERROR(ReadNext(block, length, found));
  }
  return OkStatus();
}

Result<VirtualHeader> RawHeaders::Read(const H5O_token_t& token) const {
  Found found;
  H5ZARR_RETURN_IF_ERROR(ReadBlocks(token, &found));
  if (!found.dataspace || !found.mappings) return ForHdf5("no virtual dataset");
  if (found.mappings->first != kUndefined) {
    H5ZARR_ASSIGN_OR_RETURN(found.dataspace->mappings, ReadHeap(found.mappings->first, found.mappings->second));
  }
  found.dataspace->element = std::move(found.element);
  return std::move(*found.dataspace);
}

Result<RawElement> RawHeaders::ReadElement(const H5O_token_t& token) const {
  Found found;
  found.of_any_layout = true;
  H5ZARR_RETURN_IF_ERROR(ReadBlocks(token, &found));
  return std::move(found.element);
}

}  // namespace h5zarr::transfer
