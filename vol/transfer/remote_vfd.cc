#include "transfer/remote_vfd.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <vector>

#include "host/file_driver.h"
#include "host/guard.h"

namespace h5zarr::transfer {
namespace {

constexpr haddr_t kMaxAddress = (static_cast<haddr_t>(1) << 62) - 1;

// What an access list carries.
struct Access {
  std::string name;
  std::shared_ptr<RemoteFile> file;
};

struct OpenFile : host::DriverFile {
  explicit OpenFile(const Access& of) : access(of) {}
  const Access access;
};

OpenFile* OursOf(H5FD_t* file) { return static_cast<OpenFile*>(file); }
const OpenFile* OursOf(const H5FD_t* file) { return static_cast<const OpenFile*>(file); }

// --- the file --------------------------------------------------------------------------------------

Result<void*> Open(const char* name, unsigned flags, hid_t fapl) {
  const auto* access = static_cast<const Access*>(H5Pget_driver_info(fapl));
  if (access == nullptr) return InternalError("an access list of a remote file without the file");
  // (HDF5 opens the sources of virtual datasets and the like with the access list of the file that names them.)
  if (access->name != name) {
    return PermissionDeniedError("'" + access->file->name() + "' names the file '" + name +
                                 "', which a remote file may not");
  }
  if ((flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT | H5F_ACC_EXCL)) != 0) {
    return PermissionDeniedError("'" + access->file->name() + "': remote HDF5 files can only be read");
  }
  return static_cast<H5FD_t*>(new OpenFile(*access));
}

H5FD_t* DriverOpen(const char* name, unsigned flags, hid_t fapl, haddr_t) {
  return static_cast<H5FD_t*>(host::GuardPointer("remote file", [&] { return Open(name, flags, fapl); }));
}

int DriverCompare(const H5FD_t* one, const H5FD_t* other) {
  return host::CompareAddresses(OursOf(one)->access.file.get(), OursOf(other)->access.file.get());
}

herr_t DriverQuery(const H5FD_t*, unsigned long* flags) {
  if (flags != nullptr) *flags = H5FD_FEAT_DATA_SIEVE | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t EndOfFile(const H5FD_t* file, H5FD_mem_t) { return OursOf(file)->access.file->file_bytes(); }

// --- reading ---------------------------------------------------------------------------------------

uint64_t LittleEndian(const std::byte* bytes, int count) {
  uint64_t value = 0;
  for (int i = count - 1; i >= 0; --i) value = value << 8 | std::to_integer<uint64_t>(bytes[i]);
  return value;
}

// The nodes below one of the tree that chunks of most files are found by (version 1, of HDF5's usual width).
// None where `node` is no such inner one. Nothing of it is believed: what this makes read is only kept.
std::vector<RemoteFile::Span> NodesBelow(ByteSpan node, uint64_t base_address, uint64_t file_bytes) {
  constexpr std::size_t kHeadBytes = 24, kAddressBytes = 8, kChildren = 64;
  constexpr std::size_t kFixedBytes = kHeadBytes + kChildren * kAddressBytes;
  std::vector<RemoteFile::Span> below;
  // Keys stand between the children, and before and behind them.
  if (node.size() <= kFixedBytes || (node.size() - kFixedBytes) % (kChildren + 1) != 0) return below;
  const std::size_t key_bytes = (node.size() - kFixedBytes) / (kChildren + 1);
  const bool of_chunks = std::memcmp(node.data(), "TREE\1", 5) == 0;
  const uint64_t level = LittleEndian(node.data() + 5, 1);
  const uint64_t children = LittleEndian(node.data() + 6, 2);
  if (!of_chunks || level == 0 || children > kChildren) return below;
  for (std::size_t i = 0; i < children; ++i) {
    const std::size_t at = kHeadBytes + (i + 1) * key_bytes + i * kAddressBytes;
    const uint64_t address = LittleEndian(node.data() + at, kAddressBytes);
    if (address > file_bytes || base_address > file_bytes - address ||
        node.size() > file_bytes - address - base_address) {
      return {};
    }
    below.push_back({base_address + address, node.size()});
  }
  return below;
}

// Behind the file's end there are zeros, as other drivers have it: HDF5 may read more than it needs.
Status ReadWithin(RemoteFile& file, uint64_t address, MutableByteSpan target) {
  const uint64_t there = address < file.file_bytes() ? file.file_bytes() - address : 0;
  const auto bytes = static_cast<std::size_t>(std::min<uint64_t>(there, target.size()));
  H5ZARR_RETURN_IF_ERROR(file.Read(bytes > 0 ? address : 0, target.first(bytes)));
  std::fill(target.begin() + static_cast<std::ptrdiff_t>(bytes), target.end(), std::byte{0});
  return OkStatus();
}

herr_t DriverRead(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, size_t bytes, void* buffer) {
  return host::Guard("remote file", [&]() -> Status {
    RemoteFile& remote = *OursOf(file)->access.file;
    const MutableByteSpan target(static_cast<std::byte*>(buffer), bytes);
    H5ZARR_RETURN_IF_ERROR(ReadWithin(remote, address, target));
    if (type != H5FD_MEM_BTREE || !remote.reads_index()) return OkStatus();
    return remote.Prefetch(NodesBelow(target, file->base_addr, remote.file_bytes()));
  });
}

herr_t DriverWrite(H5FD_t* file, H5FD_mem_t, hid_t, haddr_t, size_t, const void*) {
  return host::Guard("remote file", [&]() -> Status {
    return PermissionDeniedError("'" + OursOf(file)->access.file->name() + "': remote HDF5 files can only be read");
  });
}

H5FD_class_t DriverClass() {
  H5FD_class_t driver = host::MakeDriverClass<OpenFile>(host::kRemoteDriver, "h5zarr_remote");
  host::CarryAccess<OpenFile, Access>(&driver);
  driver.maxaddr = kMaxAddress;
  driver.open = DriverOpen;
  driver.cmp = DriverCompare;
  driver.query = DriverQuery;
  driver.get_eof = EndOfFile;
  driver.read = DriverRead;
  driver.write = DriverWrite;
  const H5FD_mem_t free_lists[] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(free_lists), std::end(free_lists), driver.fl_map);
  return driver;
}

host::Driver remote_driver;

}  // namespace

Status SetRemoteDriver(hid_t fapl, std::string name, std::shared_ptr<RemoteFile> file) {
  const Access access{std::move(name), std::move(file)};  // HDF5 copies it
  return remote_driver.Set(fapl, DriverClass(), &access);
}

bool IsRemoteDriver(hid_t driver) { return remote_driver.Is(driver); }

void ForgetRemoteDriver() { remote_driver.Forget(); }

}  // namespace h5zarr::transfer
