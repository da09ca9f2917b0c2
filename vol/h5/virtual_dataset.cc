#include "h5/virtual_dataset.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "h5/connector.h"
#include "h5/native_reads.h"
#include "h5zarr/h5zarr.h"

namespace h5zarr {
namespace {

using shadow::MappedSelection;
using shadow::VirtualLayout;
using shadow::VirtualMapping;

std::string KeyOf(const std::string& file, const std::string& dataset) { return file + '\0' + dataset; }

std::string NameOfFile(Object* dataset) {
  if (dataset->store != nullptr) return dataset->store->path();
  std::size_t length = 0;
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_NAME;
  args.args.get_name = {H5I_DATASET, 0, nullptr, &length};
  if (H5VLfile_get(dataset->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return "";
  }
  std::string name(length + 1, '\0');
  args.args.get_name = {H5I_DATASET, name.size(), name.data(), &length};
  if (H5VLfile_get(dataset->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return "";
  }
  name.pop_back();
  return name;
}

// HDF5_VDS_PREFIX goes before the access list's prefix; "." is none.
std::string PrefixOf(hid_t dapl) {
  std::string prefix;
  if (const char* variable = std::getenv("HDF5_VDS_PREFIX")) prefix = variable;
  if (prefix.empty()) {
    const ssize_t length = H5Pget_virtual_prefix(dapl, nullptr, 0);
    if (length > 0) {
      prefix.resize(static_cast<std::size_t>(length) + 1);
      H5Pget_virtual_prefix(dapl, prefix.data(), prefix.size());
      prefix.pop_back();
    }
  }
  return prefix == "." ? "" : prefix;
}

// An access list under which sources are opened: the default one, with this connector.
Result<Handle> SourceFapl() {
  Handle fapl(H5Pcopy(H5P_LST_FILE_ACCESS_ID_g));
  if (!fapl.valid()) return host::AlreadyReported();
  hid_t connector = H5I_INVALID_HID;
  H5VL_class_value_t value = -1;
  if (H5Pget_vol_id(fapl.get(), &connector) < 0) return host::AlreadyReported();
  const herr_t asked = H5VLget_value(connector, &value);
  H5VLclose(connector);
  if (asked >= 0 && value == H5ZARR_CONNECTOR_VALUE) return fapl;
  connector = H5VLget_connector_id_by_value(H5ZARR_CONNECTOR_VALUE);
  if (connector < 0) return host::AlreadyReported();
  const herr_t set = H5Pset_vol(fapl.get(), connector, nullptr);
  H5VLclose(connector);
  if (set < 0) return host::AlreadyReported();
  return fapl;
}

// HDF5 tells cheaply of chunked datasets that they are such.
bool IsChunked(Object* object) {
  host::KeepErrors keep;
  host::QuietErrors quiet;
  H5D_chunk_index_t index = H5D_CHUNK_IDX_BTREE;
  H5VL_native_dataset_optional_args_t native;
  native.get_chunk_idx_type.idx_type = &index;
  H5VL_optional_args_t args;
  args.op_type = H5VL_NATIVE_DATASET_GET_CHUNK_INDEX_TYPE;
  args.args = &native;
  return H5VLdataset_optional(object->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) >= 0;
}

template <typename Function>
auto WithoutErrors(const Function& function) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  return function();
}

// HDF5 would read beyond the source's extent, or divide by none of it.
Status CheckRank(const MappedSelection& selection, Object* source) {
  const bool has_rank =
      selection.kind == MappedSelection::Kind::kRegular || selection.kind == MappedSelection::Kind::kBlocks;
  if (!has_rank) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> extent, ExtentOfDataset(source));
  if (extent.size() == selection.rank()) return OkStatus();
  return InvalidArgumentError("its mapping selects in " + std::to_string(selection.rank()) + " dimensions, it has " +
                              std::to_string(extent.size()));
}

// The first and the last block of a mapping that `bounds` touch; of a mapping without blocks the one it is.
std::pair<uint64_t, uint64_t> BlocksWithin(const VirtualMapping& mapping, const transfer::Bounds& bounds) {
  if (!mapping.is_printf()) return {0, 0};
  const auto d = static_cast<std::size_t>(mapping.target.unlimited_dim);
  const zarr::DimSelection& dim = mapping.target.dims[d];
  const auto block_at = [&dim](uint64_t index) {
    return index < dim.start ? 0 : (index - dim.start) / std::max<uint64_t>(dim.stride, 1);
  };
  return {block_at(bounds.low[d]), block_at(bounds.high[d])};
}

}  // namespace

VirtualDataset::VirtualDataset(Object* dataset, std::shared_ptr<VirtualLayout> layout)
    : dataset_(dataset), layout_(std::move(layout)) {}

VirtualDataset::~VirtualDataset() {
  host::KeepErrors keep;
  (void)CloseSources().ok();
}

// --- which datasets --------------------------------------------------------------------------------

Result<VirtualDataset*> VirtualDataset::Of(Object* object, const DatasetPart* part) {
  static VirtualDataset* const kNone = nullptr;
  if (object->is_not_virtual) return kNone;
  if (object->virtual_data == nullptr) {
    if (object->store != nullptr) {
      if (object->node != nullptr && object->node->dataset.virtual_layout != nullptr) {
        H5ZARR_ASSIGN_OR_RETURN(object->virtual_data, Open(object, object->node->dataset.virtual_layout));
      }
    } else {
      H5ZARR_ASSIGN_OR_RETURN(object->virtual_data, OpenNative(object));
    }
    object->is_not_virtual = object->virtual_data == nullptr;
    if (object->is_not_virtual) return kNone;
  }
  VirtualDataset* self = object->virtual_data.get();
  if (!self->ours_ && part != nullptr) {
    if (self->layout_->has_unlimited()) H5ZARR_RETURN_IF_ERROR(self->TakeNativeExtent());
    // A selection that HDF5 will refuse leads nowhere.
    const Result<transfer::VirtualCutter> cutter =
        transfer::VirtualCutter::Make(part->file_space, part->mem_space, self->layout_->shape, 1);
    if (!cutter.ok() || cutter->elems() == 0) return kNone;
    H5ZARR_ASSIGN_OR_RETURN(self->ours_, self->LeadsToStore(cutter->bounds()));
  }
  return self->ours_ ? self : kNone;
}

Result<std::shared_ptr<VirtualDataset>> VirtualDataset::Open(Object* object, std::shared_ptr<VirtualLayout> layout) {
  std::shared_ptr<VirtualDataset> self(new VirtualDataset(object, std::move(layout)));
  H5ZARR_ASSIGN_OR_RETURN(self->dapl_, NativeDapl(object));
  if (H5Pget_virtual_view(self->dapl_.get(), &self->view_) < 0) return host::AlreadyReported();
  hsize_t gap = 0;
  if (self->view_ == H5D_VDS_LAST_AVAILABLE && H5Pget_virtual_printf_gap(self->dapl_.get(), &gap) < 0) {
    return host::AlreadyReported();
  }
  self->printf_gap_ = gap;
  self->prefix_ = PrefixOf(self->dapl_.get());
  self->file_name_ = NameOfFile(object);
  const VirtualLayout& mapped = *self->layout_;
  self->header_shape_.assign(mapped.shape.begin(), mapped.shape.end());
  self->found_blocks_.resize(mapped.mappings.size(), 0);
  self->bounds_.reserve(mapped.mappings.size() * 2 * mapped.shape.size());
  for (const VirtualMapping& mapping : mapped.mappings) {
    transfer::AppendBounds(mapping.target, mapped.shape.size(), &self->bounds_);
  }
  return self;
}

Result<std::shared_ptr<VirtualDataset>> VirtualDataset::OpenNative(Object* object) {
  const std::shared_ptr<VirtualDataset> none;
  NativeFiles& files = GetConnector().native_files;
  object->is_versioned = files.ExtentOfHeld(*object) != nullptr;
  if (object->is_versioned || IsChunked(object)) return none;
  if (RawDataOf(*object)) {
    // Its sources are in the same file; asking for its mappings would cost as much as opening it.
    object->is_versioned = true;
    files.Hold(*object);
    return none;
  }
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, NativeDcpl(object));
  if (H5Pget_layout(dcpl.get()) != H5D_VIRTUAL) return none;
  H5ZARR_ASSIGN_OR_RETURN(VirtualLayout layout, shadow::VirtualLayoutOf(dcpl.get(), H5I_INVALID_HID));
  if (layout.mappings.empty()) return none;
  H5ZARR_ASSIGN_OR_RETURN(std::shared_ptr<VirtualDataset> self,
                          Open(object, std::make_shared<VirtualLayout>(std::move(layout))));
  // HDF5 would look for the sources of a remote file's in files of this machine.
  if (IsInRemoteFile(*object)) return self;
  H5ZARR_ASSIGN_OR_RETURN(self->ours_, self->NamesStore());
  return self;
}

Result<bool> VirtualDataset::NamesStore() {
  std::set<std::string> seen;
  for (const VirtualMapping& mapping : layout_->mappings) {
    if (mapping.file == "." || !seen.insert(mapping.file).second) continue;
    const bool varies = mapping.is_printf() && mapping.file.find("%b") != std::string::npos;
    for (uint64_t block = 0, end = varies ? printf_gap_ : 0; block <= end; ++block) {
      H5ZARR_ASSIGN_OR_RETURN(const std::string file, shadow::ExpandSourceName(mapping.file, block));
      H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> candidates, Candidates(file));
      for (const std::string& candidate : candidates) {
        if (IsStorePath(candidate)) return true;
        if (varies && MayExist(candidate)) end = block + 1 + printf_gap_;
      }
    }
  }
  return false;
}

Result<bool> VirtualDataset::LeadsToStore(const transfer::Bounds& bounds) {
  bool leads = false;
  for (std::size_t i = 0; i < layout_->mappings.size() && !leads; ++i) {
    const VirtualMapping& mapping = layout_->mappings[i];
    if (!Touches(i, bounds)) continue;
    const auto [first, last] = BlocksWithin(mapping, bounds);
    for (uint64_t block = first; block <= last && !leads; ++block) {
      H5ZARR_ASSIGN_OR_RETURN(leads, SourceLeadsToStore(mapping, block));
    }
  }
  H5ZARR_RETURN_IF_ERROR(CloseSources());
  return leads;
}

Result<bool> VirtualDataset::SourceLeadsToStore(const VirtualMapping& mapping, uint64_t block) {
  std::string key = KeyOf(mapping.file, mapping.dataset);
  if (mapping.is_printf()) key += '\0' + std::to_string(block);
  if (!examined_.insert(key).second) return false;
  H5ZARR_ASSIGN_OR_RETURN(const std::string file, shadow::ExpandSourceName(mapping.file, block));
  H5ZARR_ASSIGN_OR_RETURN(const std::string dataset, shadow::ExpandSourceName(mapping.dataset, block));
  if (sources_.size() > kMaxOpenSources) H5ZARR_RETURN_IF_ERROR(CloseSources());
  const Result<Object*> source = WithoutErrors([&] { return OpenSource(file, dataset, false); });
  // What is in no store is HDF5's to open, also where it takes it for missing.
  if (!source.ok() || *source == nullptr) {
    examined_.erase(key);  // it may come
    return false;
  }
  H5ZARR_RETURN_IF_ERROR(CheckRank(mapping.source, *source).WithContext("source '" + dataset + "' in '" + file + "'"));
  DatasetPart all;
  all.object = *source;
  H5ZARR_ASSIGN_OR_RETURN(const VirtualDataset* const nested, Of(*source, &all));
  return nested != nullptr;
}

bool VirtualDataset::Touches(std::size_t index, const transfer::Bounds& bounds) const {
  const std::size_t rank = bounds.low.size();
  const uint64_t* mapped = bounds_.data() + index * 2 * rank;
  for (std::size_t d = 0; d < rank; ++d) {
    if (mapped[2 * d] > bounds.high[d] || mapped[2 * d + 1] < bounds.low[d]) return false;
  }
  return true;
}

// --- extent ----------------------------------------------------------------------------------------

// As HDF5 found it in the sources.
Status VirtualDataset::TakeNativeExtent() {
  H5VL_dataset_get_args_t args;
  args.op_type = H5VL_DATASET_GET_SPACE;
  H5ZARR_RETURN_IF_ERROR(NativeStatus(
      H5VLdataset_get(dataset_->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr)));
  const Handle space(args.args.get_space.space_id);
  std::vector<hsize_t> extent(layout_->shape.size());
  if (H5Sget_simple_extent_ndims(space.get()) != static_cast<int>(extent.size()) ||
      H5Sget_simple_extent_dims(space.get(), extent.data(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  layout_->shape.assign(extent.begin(), extent.end());
  return OkStatus();
}

Result<Handle> VirtualDataset::Space() {
  H5ZARR_RETURN_IF_ERROR(Refresh());
  const int rank = static_cast<int>(layout_->shape.size());
  Handle space(rank == 0 ? H5Screate(H5S_SCALAR)
                         : H5Screate_simple(rank, layout_->shape.data(), layout_->maxshape.data()));
  if (!space.valid()) return host::AlreadyReported();
  return space;
}

// HDF5 tells of no dataset whether its file may be changed, but refuses to change one that may not: its
// extent becomes what it is.
Status VirtualDataset::CheckWritable() {
  if (dataset_->store != nullptr) return dataset_->store->CheckWritable();
  H5VL_dataset_specific_args_t args;
  args.op_type = H5VL_DATASET_SET_EXTENT;
  args.args.set_extent.size = header_shape_.data();
  return NativeStatus(
      H5VLdataset_specific(dataset_->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr));
}

void VirtualDataset::NoteExtent(const hsize_t* shape) {
  header_shape_.assign(shape, shape + layout_->shape.size());
  layout_->shape.assign(shape, shape + layout_->shape.size());
}

Status VirtualDataset::Refresh() {
  if (!layout_->has_unlimited()) return OkStatus();
  const std::size_t rank = layout_->shape.size();
  std::vector<uint64_t> least(rank, 0);  // what limited selections need
  std::vector<std::optional<uint64_t>> followed(rank);
  const bool first_missing = view_ == H5D_VDS_FIRST_MISSING;
  missing_.clear();
  for (std::size_t i = 0; i < layout_->mappings.size(); ++i) {
    const VirtualMapping& mapping = layout_->mappings[i];
    const MappedSelection& target = mapping.target;
    for (std::size_t d = 0; d < rank; ++d) {
      if (static_cast<int>(d) == target.unlimited_dim) continue;
      if (target.kind == MappedSelection::Kind::kAll || target.kind == MappedSelection::Kind::kNone) {
        continue;
      }
      least[d] = std::max(least[d], bounds_[(i * rank + d) * 2 + 1] + 1);
    }
    if (target.unlimited_dim < 0) continue;
    H5ZARR_ASSIGN_OR_RETURN(const uint64_t extent, mapping.is_printf() ? FollowBlocks(i) : FollowSource(mapping));
    std::optional<uint64_t>& dim = followed[static_cast<std::size_t>(target.unlimited_dim)];
    dim = !dim ? extent : first_missing ? std::min(*dim, extent) : std::max(*dim, extent);
  }
  for (std::size_t d = 0; d < rank; ++d) {
    if (!followed[d]) continue;
    layout_->shape[d] = std::max(*followed[d], least[d]);
    if (layout_->shape[d] > layout_->maxshape[d]) {
      return OutOfRangeError("the sources of a virtual dataset extend it to " + std::to_string(layout_->shape[d]) +
                             " in dimension " + std::to_string(d) + ", its maximum is " +
                             std::to_string(layout_->maxshape[d]));
    }
  }
  refreshed_ = true;
  return ReleaseFiles();
}

// How far an unlimited source extends its target.
Result<uint64_t> VirtualDataset::FollowSource(const VirtualMapping& mapping) {
  H5ZARR_ASSIGN_OR_RETURN(const std::string file, shadow::ExpandSourceName(mapping.file, 0));
  H5ZARR_ASSIGN_OR_RETURN(const std::string name, shadow::ExpandSourceName(mapping.dataset, 0));
  H5ZARR_ASSIGN_OR_RETURN(Object* const source, OpenSource(file, name, false));
  if (source == nullptr) return uint64_t{0};
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> extent, ExtentOfDataset(source));
  const auto unlimited = static_cast<std::size_t>(mapping.source.unlimited_dim);
  if (extent.size() != mapping.source.rank()) {
    return InvalidArgumentError("source '" + name + "' in '" + file + "' has " + std::to_string(extent.size()) +
                                " dimensions, its mapping " + std::to_string(mapping.source.rank()));
  }
  const uint64_t slices = transfer::SlicesWithin(mapping.source.dims[unlimited], extent[unlimited]);
  return transfer::ExtentOfSlices(mapping.target.dims[static_cast<std::size_t>(mapping.target.unlimited_dim)], slices,
                                  view_ == H5D_VDS_FIRST_MISSING);
}

// How far the sources that are there, one a block, extend their target.
Result<uint64_t> VirtualDataset::FollowBlocks(std::size_t index) {
  const VirtualMapping& mapping = layout_->mappings[index];
  uint64_t& found = found_blocks_[index];
  for (uint64_t block = found; block <= found + printf_gap_; ++block) {
    H5ZARR_ASSIGN_OR_RETURN(const std::string file, shadow::ExpandSourceName(mapping.file, block));
    H5ZARR_ASSIGN_OR_RETURN(const std::string name, shadow::ExpandSourceName(mapping.dataset, block));
    H5ZARR_ASSIGN_OR_RETURN(const Object* const source, OpenSource(file, name, false));
    if (source != nullptr) found = block + 1;
    if (sources_.size() > kMaxOpenSources) H5ZARR_RETURN_IF_ERROR(CloseSources());
  }
  if (found == 0) return uint64_t{0};
  const zarr::DimSelection& dim = mapping.target.dims[static_cast<std::size_t>(mapping.target.unlimited_dim)];
  if (view_ == H5D_VDS_FIRST_MISSING) return transfer::BlockOf(dim, found).start;
  const zarr::DimSelection last = transfer::BlockOf(dim, found - 1);
  return last.start + last.block;
}

// --- sources ---------------------------------------------------------------------------------------

Result<std::vector<std::string>> VirtualDataset::Candidates(const std::string& file) const {
  return TargetCandidates(file, file_name_, "HDF5_VDS_PREFIX", prefix_);
}

Result<TargetFile*> VirtualDataset::OpenFile(const std::string& file, bool write) {
  const auto found = files_.find(file);
  if (found != files_.end()) return &found->second;
  H5ZARR_ASSIGN_OR_RETURN(const Handle fapl, SourceFapl());
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<std::string> candidates, Candidates(file));
  // As the virtual dataset's file is open, so are its sources; one that can only be read is read.
  const bool wish = write || (dataset_->store != nullptr && dataset_->store->CheckWritable().ok());
  Result<TargetFile> opened = OpenTarget(candidates, wish ? H5F_ACC_RDWR : H5F_ACC_RDONLY, fapl.get());
  if (!opened.ok() && wish && !write) {
    opened = OpenTarget(candidates, H5F_ACC_RDONLY, fapl.get());
  }
  if (!opened.ok()) return opened.status();
  return &(files_[file] = std::move(*opened));
}

Result<Object*> VirtualDataset::OpenSource(const std::string& file, const std::string& dataset, bool write) {
  static Object* const kMissing = nullptr;
  const std::string key = KeyOf(file, dataset);
  const auto found = sources_.find(key);
  if (found != sources_.end() && (found->second.writable || !write)) return found->second.dataset;
  if (missing_.count(key) > 0) return kMissing;
  // A file that is open for reading must be closed before it opens for writing.
  if (found != sources_.end()) H5ZARR_RETURN_IF_ERROR(CloseSources());
  Object beside;  // where to open it: borrows
  beside.native = dataset_->native;
  beside.store = dataset_->store;
  if (file != ".") {
    H5ZARR_ASSIGN_OR_RETURN(const TargetFile* const target, OpenFile(file, write));
    if (!target->id.valid()) {
      missing_.insert(key);
      return kMissing;
    }
    beside.native = {H5VLobject(target->id.get()), H5I_FILE};
    if (beside.native.under == nullptr) return host::AlreadyReported();
    H5ZARR_ASSIGN_OR_RETURN(const unsigned long number, host::FileNumber(beside.native.under));
    beside.store = GetConnector().stores.ByFileNumber(number);
  }
  const std::string path = dataset.starts_with('/') ? dataset : "/" + dataset;
  H5ZARR_ASSIGN_OR_RETURN(Object* const opened, OpenDatasetByPath(&beside, path, dapl_.get()));
  if (opened == nullptr) {
    missing_.insert(key);
    return kMissing;
  }
  const bool writable = write || file == "." || dataset_->store != nullptr;
  sources_[key] = {opened, writable};
  return opened;
}

// Open datasets keep their files, unless closing these would close the datasets.
Status VirtualDataset::ReleaseFiles() {
  std::erase_if(files_, [](const auto& file) { return !file.second.closes_all; });
  return OkStatus();
}

Status VirtualDataset::Flush() {
  for (const auto& [key, source] : sources_) {
    if (source.dataset->store != nullptr) {
      H5ZARR_RETURN_IF_ERROR(source.dataset->store->Save());
      continue;
    }
    H5VL_dataset_specific_args_t args;
    args.op_type = H5VL_DATASET_FLUSH;
    args.args.flush.dset_id = H5I_INVALID_HID;
    H5ZARR_RETURN_IF_ERROR(NativeStatus(H5VLdataset_specific(source.dataset->native.under, host::NativeConnector(),
                                                             &args, host::DefaultDxpl(), nullptr)));
  }
  return OkStatus();
}

Status VirtualDataset::CloseSources() {
  std::map<std::string, Source> sources;
  sources.swap(sources_);
  bool closed = true;
  for (const auto& [key, source] : sources) {
    closed = CloseDataset(source.dataset, host::DefaultDxpl(), nullptr) >= 0 && closed;
  }
  files_.clear();
  missing_.clear();
  return closed ? OkStatus() : host::AlreadyReported();
}

}  // namespace h5zarr
