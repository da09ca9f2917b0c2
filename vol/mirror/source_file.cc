#include "mirror/source_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/checked.h"
#include "mirror/hdf5_read.h"

namespace h5zarr::mirror {
namespace {

// Chunks that a list has room for: more is no extent of raw_data.
constexpr uint64_t kMostSlots = uint64_t{1} << 32;

// Only of HDF5's default driver is it known what a file's handle is.
bool HasDefaultDriver(hid_t file) {
  const char* const variable = std::getenv("HDF5_DRIVER");
  if (variable != nullptr && *variable != '\0' && std::strcmp(variable, "sec2") != 0) return false;
  const Handle fapl(H5Fget_access_plist(file));
  return fapl.valid() && H5Pget_driver(fapl.get()) == H5Pget_driver(H5P_LST_FILE_ACCESS_ID_g);
}

std::shared_ptr<FileBytes> BytesOf(hid_t file) {
  const std::optional<int> fd = DescriptorOf(file);
  char name[4096] = "";
  if (!fd || H5Fget_name(file, name, sizeof name) < 0) {
    H5Eclear2(H5E_DEFAULT);
    return nullptr;
  }
  auto bytes = BytesOfOpenFile(name, *fd);
  return bytes.ok() ? std::move(*bytes) : nullptr;
}

struct Lister {
  RawData* raw;
  uint64_t chunk_rows = 1;
  std::vector<hsize_t> last;  // coordinates of the chunk that was told last
  bool plain = true;          // every chunk is where one can be

  static int Add(const hsize_t* offset, unsigned skipped_filters, haddr_t address, hsize_t bytes, void* opaque) {
    auto* const self = static_cast<Lister*>(opaque);
    const std::size_t rank = self->raw->extent.size();
    const uint64_t slot = offset[0] / self->chunk_rows;
    self->plain = offset[0] % self->chunk_rows == 0 && slot < self->raw->chunks.size() && address != HADDR_UNDEF &&
                  std::all_of(offset + 1, offset + rank, [](hsize_t at) { return at == 0; });
    if (!self->plain) return H5_ITER_STOP;
    self->raw->chunks[slot] = {address, bytes, skipped_filters == 0};
    self->last.assign(offset, offset + rank);
    return H5_ITER_CONT;
  }
};

}  // namespace

std::optional<int> DescriptorOf(hid_t file) {
  void* handle = nullptr;
  if (!HasDefaultDriver(file) || H5Fget_vfd_handle(file, H5P_DEFAULT, &handle) < 0 || handle == nullptr) {
    H5Eclear2(H5E_DEFAULT);
    return std::nullopt;
  }
  return *static_cast<const int*>(handle);
}

Result<std::vector<uint64_t>> ExtentOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Error("a dataspace");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), nullptr) < 0) {
    return Hdf5Error("a dataspace");
  }
  return std::vector<uint64_t>(dims.begin(), dims.end());
}

SourceFile::SourceFile(hid_t file) : file_(file), bytes_(BytesOf(file)) {
  if (bytes_ == nullptr) return;
  Result<transfer::RawHeaders> headers = transfer::RawHeaders::Of(bytes_);
  if (headers.ok()) headers_ = std::move(*headers);
}

// HDF5 tells of all chunks at once much faster than of one after the other. Where they are is believed only if
// it says the same of one that it is asked for alone, and addresses count from the file's begin.
Status SourceFile::ListChunks(RawData* raw) const {
  std::vector<hsize_t> chunk(raw->extent.size());
  if (H5Pget_chunk(raw->dcpl.get(), static_cast<int>(chunk.size()), chunk.data()) < 0 || chunk.empty() ||
      chunk[0] == 0) {
    return Hdf5Error("its chunks");
  }
  const uint64_t slots = CeilDiv(raw->extent[0], chunk[0]);
  if (slots > kMostSlots) return UnsupportedError("more than 2^32 chunks");
  Lister lister{raw, chunk[0], {}};
  raw->chunks.resize(slots);
  if (H5Dchunk_iter(raw->dataset.get(), H5P_DEFAULT, Lister::Add, &lister) < 0) {
    return Hdf5Error("its chunks");
  }
  if (!lister.plain) return UnsupportedError("its chunks do not stand one below the other");
  if (lister.last.empty() || headers_ == std::nullopt) return OkStatus();
  unsigned skipped_filters = 0;
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  if (H5Dget_chunk_info_by_coord(raw->dataset.get(), lister.last.data(), &skipped_filters, &address, &bytes) < 0) {
    return Hdf5Error("its chunks");
  }
  const RawChunk& last = raw->chunks[lister.last[0] / chunk[0]];
  raw->are_at_hand = address == last.offset && bytes == last.bytes;
  return OkStatus();
}

Result<const RawData*> SourceFile::FindRaw(const std::string& name) {
  const auto found = raws_.find(name);
  if (found != raws_.end()) return &found->second;
  RawData raw;
  raw.name = name;
  raw.dataset = Handle(H5Dopen2(file_, name.c_str(), H5P_DEFAULT));
  if (!raw.dataset.valid()) return Hdf5Error("'" + name + "'");
  raw.type = Handle(H5Dget_type(raw.dataset.get()));
  raw.dcpl = Handle(H5Dget_create_plist(raw.dataset.get()));
  const Handle space(H5Dget_space(raw.dataset.get()));
  if (!raw.type.valid() || !raw.dcpl.valid() || !space.valid()) return Hdf5Error("'" + name + "'");
  H5ZARR_ASSIGN_OR_RETURN(raw.extent, ExtentOf(space.get()));
  const Status listed = ListChunks(&raw);
  if (!listed.ok()) return listed.WithContext("'" + name + "'");
  return &raws_.emplace(name, std::move(raw)).first->second;
}

}  // namespace h5zarr::mirror
