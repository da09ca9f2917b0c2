#include "unit/transfer/twin.h"

#include <dlfcn.h>

#include <string>
#include <utility>

#include "base/checked.h"
#include "catch.h"
#include "host/host_api.h"
#include "store/memory_store.h"

// Asking a transfer list for its data transform costs a copy that HDF5 gives no way to free
// (dataset_io.cc, CheckTransferList).
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions();
const char* __lsan_default_suppressions() { return "leak:H5Z_xform_copy"; }

namespace h5zarr::transfer {

void BindHdf5() {
  static const bool bound = [] {
    // The forwarders are hidden, so this finds libhdf5's.
    void* open = dlsym(RTLD_DEFAULT, "H5open");
    static const int own_class = 0;
    if (open == nullptr || host::BindOrFindImage(open, &own_class, nullptr) == nullptr) {
      return false;
    }
    H5open();
    host::LoadVariables();
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    return true;
  }();
  REQUIRE(bound);
}

Handle SimpleSpace(const std::vector<uint64_t>& extent) {
  if (extent.empty()) return Handle(H5Screate(H5S_SCALAR));
  return Handle(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), nullptr));
}

Twin::Twin(hid_t type, std::vector<uint64_t> extent, std::vector<uint64_t> chunk, Native native)
    : extent_(std::move(extent)) {
  BindHdf5();
  const Handle fapl(H5Pcreate(H5P_FILE_ACCESS));
  H5Pset_fapl_core(fapl.get(), 1 << 16, false);
  static int files = 0;
  const std::string name = "twin" + std::to_string(++files);
  file_ = Handle(H5Fcreate(name.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, fapl.get()));
  const Handle space = SimpleSpace(extent_);
  const Handle dcpl(H5Pcreate(H5P_DATASET_CREATE));
  if (!chunk.empty() && native == Native::kChunked) {
    H5Pset_chunk(dcpl.get(), static_cast<int>(chunk.size()), chunk.data());
  }
  dataset_ = Handle(H5Dcreate2(file_.get(), "d", type, space.get(), H5P_DEFAULT, dcpl.get(), H5P_DEFAULT));
  REQUIRE(file_.valid());
  REQUIRE(dataset_.valid());
  auto element = shadow::MapToZarr(type, 3);
  INFO(element.status().message());
  REQUIRE(element.ok());
  element_ = *element;
  OpenArray(chunk);
}

Twin::Twin(shadow::ElementMap element, std::vector<uint64_t> extent, std::vector<uint64_t> chunk)
    : extent_(std::move(extent)), element_(std::move(element)) {
  BindHdf5();
  OpenArray(chunk);
}

void Twin::OpenArray(const std::vector<uint64_t>& chunk) {
  zarr::ArrayMetadata metadata;
  metadata.shape = extent_;
  metadata.chunk_shape = chunk;
  for (const uint64_t dim : element_.elem_dims) {
    metadata.shape.push_back(dim);
    metadata.chunk_shape.push_back(dim);
  }
  metadata.dtype = element_.dtype;
  metadata.fill.defined = true;
  if (element_.dtype.is_vlen()) {
    const bool text = element_.dtype.kind == DType::Kind::kString;
    metadata.codecs.push_back({text ? "vlen-utf8" : "vlen-bytes", nullptr});
  } else {
    metadata.fill.bytes.resize(element_.dtype.item_bytes);
  }
  store_ = MakeMemoryStore();
  auto array = zarr::Array::Open(store_.get(), "d", std::move(metadata), {&executor_});
  INFO(array.status().message());
  REQUIRE(array.ok());
  array_ = std::move(*array);
}

uint64_t Twin::elems() const { return *CheckedProduct(extent_); }

herr_t Twin::NativeRead(hid_t mem_type, Space space, void* buffer) {
  return H5Dread(dataset_.get(), mem_type, space.mem, space.file, H5P_DEFAULT, buffer);
}

herr_t Twin::NativeWrite(hid_t mem_type, Space space, const void* buffer) {
  return H5Dwrite(dataset_.get(), mem_type, space.mem, space.file, H5P_DEFAULT, buffer);
}

DatasetTransfer Twin::Transfer(hid_t mem_type, Space space) {
  DatasetTransfer transfer;
  transfer.array = array_.get();
  transfer.element = &element_;
  transfer.extent = extent_;
  transfer.mem_type = mem_type;
  transfer.mem_space = space.mem;
  transfer.file_space = space.file;
  transfer.references = &references;
  return transfer;
}

Status Twin::Read(hid_t mem_type, Space space, void* buffer, hid_t dxpl) {
  DatasetTransfer transfer = Transfer(mem_type, space);
  transfer.read_buffer = buffer;
  return ReadDatasets(std::span(&transfer, 1), dxpl);
}

Status Twin::Write(hid_t mem_type, Space space, const void* buffer, hid_t dxpl) {
  DatasetTransfer transfer = Transfer(mem_type, space);
  transfer.write_buffer = buffer;
  return WriteDatasets(std::span(&transfer, 1), dxpl);
}

}  // namespace h5zarr::transfer
