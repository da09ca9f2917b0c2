#include "view/build.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/checked.h"
#include "host/host_api.h"
#include "host/native.h"
#include "host/object.h"
#include "shadow/chunk_map.h"
#include "shadow/h5_types.h"
#include "transfer/dataset_io.h"
#include "view/by_connector.h"
#include "view/image_driver.h"
#include "view/layout.h"

namespace h5zarr::view {
namespace {

using shadow::NodePtr;
using shadow::NodeState;
using shadow::StoreFile;

constexpr std::size_t kMostNodes = 20'000;

// An object that can't be opened.
struct Refused {
  uint64_t header = 0;  // its address
  uint32_t links = 1;   // that lead to it
  Status why;
};

// The file that becomes the image, while it is made.
class Builder {
 public:
  explicit Builder(std::shared_ptr<StoreFile> store)
      : image_(std::make_shared<Image>(store)),
        store_(std::move(store)),
        held_budget_bytes_(store_->config().memory_bytes / 4),
        layout_(store_.get(), image_.get(), held_budget_bytes_) {}

  Result<std::shared_ptr<Image>> Make() {
    H5ZARR_RETURN_IF_ERROR(Create());
    const Status made = Fill();
    Leave();
    H5ZARR_RETURN_IF_ERROR(made);
    for (Region& region : regions_) image_->Add(std::move(region));
    for (const Refused& one : refused_) H5ZARR_RETURN_IF_ERROR(image_->Refuse(one.header, one.links, one.why));
    return image_;
  }

 private:
  Status Create();
  Status Fill();
  void Leave();
  Status Admit(std::size_t children);
  Status Refuse(const NodePtr& node);
  Status Settle(const NodePtr& node);
  Status Hold(const NodePtr& node, hid_t dataset, hid_t type);
  Status HoldSlab(const NodePtr& node, hid_t dataset, const Block& slab);
  Status ReadSlab(const NodePtr& node, hid_t type, hid_t mem_space, hid_t file_space, std::byte* buffer);

  const std::shared_ptr<Image> image_;
  const std::shared_ptr<StoreFile> store_;
  const uint64_t held_budget_bytes_;
  Layout layout_;
  std::size_t nodes_ = 0;
  shadow::ImageMaking making_;
  Handle file_;
  Object root_;  // the place from which the store works
  std::vector<Region> regions_;
  std::vector<Refused> refused_;
};

Status Builder::Create() {
  H5ZARR_ASSIGN_OR_RETURN(const Handle fapl, ImageFapl(H5P_LST_FILE_ACCESS_ID_g, image_));
  H5ZARR_ASSIGN_OR_RETURN(const Handle fcpl, store_->ShadowFcpl(H5P_LST_FILE_CREATE_ID_g));
  // As a shadow's. The implicit index of chunks came with 1.10.
  const auto newest = static_cast<H5F_libver_t>(host::HostVersion().major >= 2 ? 5 : 4);
  if (H5Pset_libver_bounds(fapl.get(), H5F_LIBVER_V114, newest) < 0) return host::AlreadyReported();
  file_ = Handle(H5Fcreate(store_->name().c_str(), H5F_ACC_TRUNC, fcpl.get(), fapl.get()));
  if (!file_.valid()) return host::AlreadyReported();
  root_.native = {H5VLobject(file_.get()), H5I_FILE};
  making_.file = file_.get();
  making_.adapt = [this](const std::string& path, hid_t type, Handle* space, Handle* dcpl) {
    return layout_.Adapt(path, type, space, dcpl);
  };
  making_.admit = [this](std::size_t children) { return Admit(children); };
  store_->set_image(&making_);
  const Status adopted = store_->Adopt(root_.native.under);
  if (!adopted.ok()) return adopted;
  root_.node = store_->root();
  store_->Attach(&root_);
  return OkStatus();
}

void Builder::Leave() {
  const host::KeepErrors keep;
  store_->Detach(&root_);
  store_->set_image(nullptr);
  file_.Reset();
}

Status Builder::Admit(std::size_t children) {
  nodes_ += children;
  if (nodes_ <= kMostNodes) return OkStatus();
  return UnsupportedError("it has more than " + std::to_string(kMostNodes) +
                          " nodes, too many for a store that opens by itself; " + std::string(kAdvice));
}

Status Builder::Fill() {
  H5ZARR_RETURN_IF_ERROR(store_->Fill(store_->root(), true));
  for (const NodePtr& node : store_->Nodes()) {
    if (!node->broken.ok()) {
      H5ZARR_RETURN_IF_ERROR(Refuse(node));
      continue;
    }
    if (node->kind != NodeState::Kind::kDataset) continue;
    H5ZARR_RETURN_IF_ERROR(store_->CompleteAttributes(node));
    H5ZARR_RETURN_IF_ERROR(Settle(node));
  }
  return H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0 ? host::AlreadyReported() : OkStatus();
}

Status Builder::Refuse(const NodePtr& node) {
  haddr_t header = HADDR_UNDEF;
  const Handle object(H5Oopen_by_token(file_.get(), host::TokenOfKey(node->token)));
  H5O_info2_t info;
  if (!object.valid() || H5Oget_info3(object.get(), &info, H5O_INFO_BASIC) < 0 ||
      H5VLnative_token_to_addr(file_.get(), host::TokenOfKey(node->token), &header) < 0) {
    return host::AlreadyReported();
  }
  refused_.push_back({header, info.rc, node->broken});
  return OkStatus();
}

// The extent of a dataset; nothing for one without a dataspace. `most`, when given, receives how far it may grow.
std::vector<uint64_t> ExtentOf(hid_t dataset, std::vector<uint64_t>* most = nullptr) {
  const Handle space(H5Dget_space(dataset));
  const int rank = H5Sget_simple_extent_ndims(space.get());
  std::vector<uint64_t> extent(rank > 0 ? static_cast<std::size_t>(rank) : 0);
  if (most != nullptr) most->resize(extent.size());
  if (!extent.empty()) {
    H5Sget_simple_extent_dims(space.get(), extent.data(), most != nullptr ? most->data() : nullptr);
  }
  return extent;
}

// The address of the first element; HADDR_UNDEF where HDF5 gave out none.
haddr_t AddressOf(hid_t dataset, const Geometry& geometry) {
  if (geometry.chunk.empty()) return H5Dget_offset(dataset);
  const std::vector<hsize_t> first(geometry.extent.size(), 0);
  haddr_t address = HADDR_UNDEF;
  hsize_t bytes = 0;
  unsigned mask = 0;
  if (H5Dget_chunk_info_by_coord(dataset, first.data(), &mask, &address, &bytes) < 0) {
    return HADDR_UNDEF;
  }
  return address;
}

// Says what is at the addresses of a dataset.
Status Builder::Settle(const NodePtr& node) {
  if (node->dataset.virtual_layout != nullptr) image_->NoteElements();
  if (node->dataset.null_space || node->dataset.external) return OkStatus();
  const Handle dataset(H5Oopen_by_token(file_.get(), host::TokenOfKey(node->token)));
  const Handle type(dataset.valid() ? H5Dget_type(dataset.get()) : H5I_INVALID_HID);
  const Handle dcpl(type.valid() ? H5Dget_create_plist(dataset.get()) : H5I_INVALID_HID);
  if (!dcpl.valid()) return host::AlreadyReported();
  Geometry geometry;
  geometry.extent = ExtentOf(dataset.get(), &geometry.grid_extent);
  const std::vector<uint64_t>& most = geometry.grid_extent;
  if (std::find(most.begin(), most.end(), uint64_t{H5S_UNLIMITED}) != most.end()) {
    geometry.grid_extent = geometry.extent;
  }
  geometry.elem_bytes = H5Tget_size(type.get());
  if (H5Pget_layout(dcpl.get()) == H5D_CHUNKED) {
    H5ZARR_ASSIGN_OR_RETURN(geometry.chunk, shadow::ChunkOfDcpl(dcpl.get(), geometry.extent.size()));
  }
  const std::vector<uint64_t>& extent = geometry.extent;
  if (std::find(extent.begin(), extent.end(), 0u) != extent.end()) return OkStatus();
  const haddr_t begin = AddressOf(dataset.get(), geometry);
  if (begin == HADDR_UNDEF) return InternalError("no addresses for '" + node->path + "'");
  Status unreadable;
  if (shadow::HoldsVlenOrReference(type.get())) {
    image_->NoteElements();
    unreadable = Hold(node, dataset.get(), type.get());
    if (unreadable.ok()) return OkStatus();
  }
  const uint64_t raw_bytes = image_->RawBytesAt(begin);
  if (!unreadable.ok()) {  // (what a part of variable length takes in a file only HDF5 knows)
    regions_.push_back(Region::Unreadable(begin, raw_bytes, unreadable));
    return OkStatus();
  }
  if (node->dataset.virtual_layout != nullptr) {
    H5ZARR_ASSIGN_OR_RETURN(geometry.type, shadow::TypeToJson(type.get()));
  }
  H5ZARR_ASSIGN_OR_RETURN(Region region, Region::Make(begin, std::move(geometry), node));
  if (raw_bytes != region.end() - begin) {
    return InternalError("HDF5 has other addresses for '" + node->path + "'");
  }
  regions_.push_back(std::move(region));
  return OkStatus();
}

// Copies the elements of a dataset into the image. Returns why they can't be read from there: they are too
// many, or the store failed.
Status Builder::Hold(const NodePtr& node, hid_t dataset, hid_t type) {
  const std::vector<uint64_t> extent = ExtentOf(dataset);
  const std::vector<uint64_t> most = shadow::SlabShape(extent, H5Tget_size(type));
  Block slab;
  slab.origin.assign(extent.size(), 0);
  while (true) {
    slab.shape.clear();
    for (std::size_t d = 0; d < extent.size(); ++d) {
      slab.shape.push_back(std::min(most[d], extent[d] - slab.origin[d]));
    }
    const Status held = HoldSlab(node, dataset, slab);
    if (host::IsAlreadyReported(held)) {
      return InternalError("HDF5 could not take the elements of '" + node->path + "'");
    }
    H5ZARR_RETURN_IF_ERROR(held);
    // (What HDF5 has not written yet counts, too.)
    if (H5Fflush(file_.get(), H5F_SCOPE_LOCAL) < 0) return InternalError("HDF5 could not be flushed");
    if (image_->held().held_bytes() > held_budget_bytes_) {
      return NoSpaceError("'" + node->path + "' and others hold more than " + std::to_string(held_budget_bytes_ >> 20) +
                          " MiB of text, sequences and references; to read it, " + std::string(kAdvice));
    }
    std::size_t d = extent.size();
    while (d > 0 && (slab.origin[d - 1] += most[d - 1]) >= extent[d - 1]) slab.origin[--d] = 0;
    if (d == 0) return OkStatus();
  }
}

// A dataspace of these dimensions; for no dimensions a scalar one.
Handle MakeSpace(const std::vector<uint64_t>& dims) {
  return dims.empty() ? Handle(H5Screate(H5S_SCALAR))
                      : Handle(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
}

// Elements of a dataset as the image has them, in memory.
Status Builder::ReadSlab(const NodePtr& node, hid_t type, hid_t mem_space, hid_t file_space, std::byte* buffer) {
  if (node->dataset.virtual_layout != nullptr) {
    return ReadByConnector(*store_, node->path, type, mem_space, file_space, buffer);
  }
  H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, store_->OpenElements(node));
  const shadow::ReferenceResolver references = store_->References();
  const std::span<const uint64_t> shape = array->shape();
  transfer::DatasetTransfer transfer;
  transfer.array = array;
  transfer.path = node->path;
  transfer.element = &node->dataset.element;
  transfer.extent = shape.first(shape.size() - node->dataset.element.elem_dims.size());
  transfer.mem_type = type;
  transfer.mem_space = mem_space;
  transfer.file_space = file_space;
  transfer.read_buffer = buffer;
  transfer.references = &references;
  return transfer::ReadDatasets({&transfer, 1}, host::DefaultDxpl());
}

Status Builder::HoldSlab(const NodePtr& node, hid_t dataset, const Block& slab) {
  const Handle type(H5Dget_type(dataset));
  const Handle file_space(H5Dget_space(dataset));
  const Handle mem_space = MakeSpace(slab.shape);
  if (!slab.shape.empty() && H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, slab.origin.data(), nullptr,
                                                 slab.shape.data(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  const std::optional<uint64_t> elems = CheckedProduct(slab.shape);
  const std::optional<uint64_t> bytes = elems ? CheckedMul(*elems, H5Tget_size(type.get())) : std::nullopt;
  if (!bytes) return OutOfRangeError("more elements than fit into memory");
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(*bytes));
  std::memset(buffer.data(), 0, *bytes);
  Status held = ReadSlab(node, type.get(), mem_space.get(), file_space.get(), buffer.data());
  if (held.ok() && H5Dwrite(dataset, type.get(), mem_space.get(), file_space.get(), H5P_DEFAULT, buffer.data()) < 0) {
    held = host::AlreadyReported();
  }
  const host::KeepErrors keep;
  H5Treclaim(type.get(), mem_space.get(), H5P_DEFAULT, buffer.data());
  return held;
}

}  // namespace

Result<std::shared_ptr<Image>> MakeImage(std::shared_ptr<StoreFile> store) { return Builder(std::move(store)).Make(); }

}  // namespace h5zarr::view
