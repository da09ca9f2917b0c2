#include "shadow/memory_driver.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>

#include "base/buffer.h"
#include "base/checked.h"
#include "host/file_driver.h"
#include "host/guard.h"

namespace h5zarr::shadow {
namespace {

constexpr uint64_t kPageBytes = 1 << 16;

// What was written of a file: elsewhere are zeros, which take no memory.
class Pages {
 public:
  void Read(uint64_t at, std::byte* buffer, uint64_t bytes) const {
    ForEachPart(at, bytes, [&](uint64_t page, uint64_t begin, uint64_t done, uint64_t part) {
      const auto found = pages_.find(page);
      if (found == pages_.end()) std::memset(buffer + done, 0, part);
      else std::memcpy(buffer + done, found->second->data() + begin, part);
    });
  }

  void Write(uint64_t at, ByteSpan data) {
    ForEachPart(at, data.size(), [&](uint64_t page, uint64_t begin, uint64_t done, uint64_t part) {
      std::unique_ptr<Page>& kept = pages_[page];
      if (kept == nullptr) kept = std::make_unique<Page>();
      std::memcpy(kept->data() + begin, data.data() + done, part);
    });
  }

 private:
  using Page = std::array<std::byte, kPageBytes>;

  // Calls `body(page, begin within it, bytes before, bytes)`.
  template <typename Body>
  static void ForEachPart(uint64_t at, uint64_t bytes, Body&& body) {
    for (uint64_t done = 0; done < bytes;) {
      const uint64_t begin = (at + done) % kPageBytes;
      const uint64_t part = std::min(bytes - done, kPageBytes - begin);
      body((at + done) / kPageBytes, begin, done, part);
      done += part;
    }
  }

  std::unordered_map<uint64_t, std::unique_ptr<Page>> pages_;
};

struct MemoryFile : host::DriverFile {
  std::string name;
  Pages pages;
};

MemoryFile* AsFile(H5FD_t* file) { return static_cast<MemoryFile*>(file); }
const MemoryFile* AsFile(const H5FD_t* file) { return static_cast<const MemoryFile*>(file); }

bool forgets_elements = false;

uint64_t NumberAt(ByteSpan bytes, uint64_t at, uint64_t length) {
  uint64_t number = 0;
  for (uint64_t i = length; i-- > 0;) number = number << 8 | std::to_integer<uint64_t>(bytes[at + i]);
  return number;
}

// HDF5 says that these are elements, too: its global heaps, and attributes and links that are too large for other heaps
// (H5FD_MEM_FHEAP_HUGE_OBJ). Each is written as a whole; what looks like one is kept, whatever it is.
// The file format is HDF5's: "File Format Specification", III.E (global heap), IV.A.2.m (attribute), IV.A.2.g (link).
bool MayBeGlobalHeap(ByteSpan bytes) { return AsText(bytes).starts_with("GCOL"); }

bool MayBeAttribute(ByteSpan bytes) {
  constexpr uint64_t kHeadBytes = 9;
  if (bytes.size() < kHeadBytes) return false;
  const uint64_t version = NumberAt(bytes, 0, 1), flags = NumberAt(bytes, 1, 1);
  if (version < 1 || version > 3 || flags > 3) return false;
  // The name, with a 0 at its end, comes after three lengths and, of version 3, its character set.
  const uint64_t name_bytes = NumberAt(bytes, 2, 2);
  const uint64_t name_end = (version == 3 ? kHeadBytes : kHeadBytes - 1) + name_bytes;
  return name_bytes > 0 && name_end <= bytes.size() && NumberAt(bytes, name_end - 1, 1) == 0;
}

bool MayBeLink(ByteSpan bytes) {
  constexpr uint64_t kMostBefore = 2 + 1 + 8 + 1 + 8, kAddressBytes = 8;
  if (bytes.size() < kMostBefore || NumberAt(bytes, 0, 1) != 1) return false;
  const uint64_t flags = NumberAt(bytes, 1, 1);
  if (flags > 0x1f) return false;
  uint64_t at = 2;
  const uint64_t kind = (flags & 0x08) != 0 ? NumberAt(bytes, at++, 1) : 0;
  at += (flags & 0x04) != 0 ? 8 : 0;  // when it was made
  at += (flags & 0x10) != 0 ? 1 : 0;  // its character set
  const uint64_t length_bytes = uint64_t{1} << (flags & 3);
  const uint64_t name_bytes = NumberAt(bytes, at, length_bytes);
  at += length_bytes;
  if (name_bytes > bytes.size() - at) return false;
  at += name_bytes;
  if (kind == 0) return bytes.size() - at == kAddressBytes;
  return bytes.size() - at >= 2 && bytes.size() - at - 2 == NumberAt(bytes, at, 2);
}

H5FD_t* file_open(const char* name, unsigned flags, hid_t fapl, haddr_t longest) {
  (void)fapl;
  (void)longest;
  return static_cast<H5FD_t*>(host::GuardPointer("shadow_open", [&]() -> Result<void*> {
    // HDF5 looks for a file before it makes one.
    if ((flags & H5F_ACC_CREAT) == 0) return NotFoundError("'" + std::string(name) + "' is not there");
    auto file = std::make_unique<MemoryFile>();
    file->name = name;
    return static_cast<H5FD_t*>(file.release());
  }));
}

int file_cmp(const H5FD_t* a, const H5FD_t* b) { return AsFile(a)->name.compare(AsFile(b)->name); }

herr_t file_query(const H5FD_t* file, unsigned long* flags) {
  (void)file;
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t file_get_eof(const H5FD_t* file, H5FD_mem_t type) {
  (void)type;
  return AsFile(file)->end_of_space;
}

// HDF5 also asks for what has no address.
Status CheckWithin(const MemoryFile& file, haddr_t at, size_t bytes) {
  const auto end = CheckedAdd(at, bytes);
  if (end && *end <= file.end_of_space) return OkStatus();
  return OutOfRangeError("'" + file.name + "': " + std::to_string(bytes) + " bytes at " + std::to_string(at) +
                         " end behind its " + std::to_string(file.end_of_space));
}

herr_t file_read(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, void* buffer) {
  (void)type;
  (void)dxpl;
  return host::Guard("shadow_read", [&]() -> Status {
    H5ZARR_RETURN_IF_ERROR(CheckWithin(*AsFile(file), at, bytes));
    AsFile(file)->pages.Read(at, static_cast<std::byte*>(buffer), bytes);
    return OkStatus();
  });
}

herr_t file_write(H5FD_t* file, H5FD_mem_t type, hid_t dxpl, haddr_t at, size_t bytes, const void* buffer) {
  (void)dxpl;
  return host::Guard("shadow_write", [&]() -> Status {
    H5ZARR_RETURN_IF_ERROR(CheckWithin(*AsFile(file), at, bytes));
    const ByteSpan data(static_cast<const std::byte*>(buffer), bytes);
    const bool is_forgotten = forgets_elements && type == H5FD_MEM_DRAW && !MayBeGlobalHeap(data) &&
                              !MayBeAttribute(data) && !MayBeLink(data);
    if (!is_forgotten) AsFile(file)->pages.Write(at, data);
    return OkStatus();
  });
}

H5FD_class_t DriverClass() {
  H5FD_class_t driver = host::MakeDriverClass<MemoryFile>(host::kShadowDriver, "h5zarr_shadow");
  driver.maxaddr = haddr_t{1} << 62;
  driver.open = file_open;
  driver.cmp = file_cmp;
  driver.query = file_query;
  driver.get_eof = file_get_eof;
  driver.read = file_read;
  driver.write = file_write;
  constexpr H5FD_mem_t kOneList[H5FD_MEM_NTYPES] = H5FD_FLMAP_SINGLE;
  std::copy(std::begin(kOneList), std::end(kOneList), driver.fl_map);
  return driver;
}

host::Driver memory_driver;

}  // namespace

Status SetMemoryDriver(hid_t fapl) { return memory_driver.Set(fapl, DriverClass(), nullptr); }

void ForgetMemoryDriver() { memory_driver.Forget(); }

ForgetElements::ForgetElements(bool does) : before_(std::exchange(forgets_elements, does)) {}

ForgetElements::~ForgetElements() { forgets_elements = before_; }

}  // namespace h5zarr::shadow
