#include "h5/native_reads.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>
#include <vector>

#include "base/trace.h"
#include "h5/connector.h"
#include "h5/file_access.h"
#include "host/host_api.h"
#include "store/url.h"
#include "transfer/dataset_io.h"
#include "transfer/versioned_map.h"

namespace h5zarr {
namespace {

// A read of less is HDF5's without another question: the engine could win little.
constexpr uint64_t kLeastBytes = 64 << 10;
// After so many such reads of a versioned dataset its mappings may be worth finding all the same. HDF5 1.14 goes
// through all of them for each; later ones keep a tree.
constexpr unsigned kManyReads = 16, kManyReadsOf114 = 2;

// Then the default driver is one that may not keep the file's bytes where they are.
bool DriverSetByEnvironment() {
  const char* variable = std::getenv("HDF5_DRIVER");
  return variable != nullptr && *variable != '\0' && std::strcmp(variable, "sec2") != 0;
}

bool IsForReadingOnly(void* file) {
  unsigned flags = H5F_ACC_RDWR;
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_INTENT;
  args.args.get_intent.flags = &flags;
  return H5VLfile_get(file, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) >= 0 &&
         flags == H5F_ACC_RDONLY;
}

// The descriptor that HDF5's default driver has of the file; negative where there is none.
int DescriptorOf(void* file) {
  void* handle = nullptr;
  H5VL_native_file_optional_args_t native;
  native.get_vfd_handle.fapl_id = H5P_DEFAULT;
  native.get_vfd_handle.file_handle = &handle;
  H5VL_optional_args_t args;
  args.op_type = H5VL_NATIVE_FILE_GET_VFD_HANDLE;
  args.args = &native;
  if (H5VLfile_optional(file, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0 || handle == nullptr) {
    return -1;
  }
  return *static_cast<const int*>(handle);
}

// How many elements a read is of; nothing where the arguments make no sense.
std::optional<uint64_t> ElemsOf(const DatasetPart& part) {
  hid_t space = part.file_space != H5S_ALL ? part.file_space : part.mem_space;
  if (space == H5S_ALL || space == H5S_BLOCK || space == H5S_PLIST) {
    if (part.file_space != H5S_ALL) return std::nullopt;
    const Result<Handle> own = SpaceOfDataset(part.object);
    const hssize_t elems = own.ok() ? H5Sget_simple_extent_npoints(own->get()) : -1;
    return elems < 0 ? std::nullopt : std::optional<uint64_t>(elems);
  }
  const hssize_t elems = H5Sget_select_npoints(space);
  return elems < 0 ? std::nullopt : std::optional<uint64_t>(elems);
}

// Of no dimensions where mappings may change it.
HeldExtent FixedExtentOf(void* dataset) {
  HeldExtent extent;
  const Result<Handle> space = transfer::AskDataset(dataset, H5VL_DATASET_GET_SPACE);
  const int rank = space.ok() ? H5Sget_simple_extent_ndims(space->get()) : -1;
  if (rank < 1) return extent;
  extent.dims.resize(static_cast<std::size_t>(rank));
  extent.max_dims = extent.dims;
  const int told = H5Sget_simple_extent_dims(space->get(), extent.dims.data(), extent.max_dims.data());
  return told == rank && extent.dims == extent.max_dims ? extent : HeldExtent();
}

}  // namespace

void NativeFiles::NoteOpened(void* under, const char* name, hid_t fapl, const Config& config) {
  any_remote_ = any_remote_ || IsRemoteName(name);  // a driver of the program's own reads it
  if (config.accelerate == Config::Accelerate::kOff || !HasDefaultDriver(fapl) || DriverSetByEnvironment()) return;
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  const Result<unsigned long> number = host::FileNumber(under);
  if (!number.ok() || !IsForReadingOnly(under)) return;
  if (files_.count(*number) > 0) {
    ++files_[*number].opened;
    return;
  }
  Result<std::shared_ptr<FileBytes>> file = BytesOfOpenFile(name, DescriptorOf(under));
  if (file.ok()) Note(*number, std::move(*file), config);
}

void NativeFiles::NoteOpened(void* under, std::shared_ptr<RemoteFile> file, const Config& config) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  const Result<unsigned long> number = host::FileNumber(under);
  if (!number.ok()) return;
  if (files_.count(*number) > 0) {
    ++files_[*number].opened;
    return;
  }
  Note(*number, std::move(file), config);
}

void NativeFiles::Note(unsigned long number, std::shared_ptr<FileBytes> bytes, const Config& config) {
  MakeRoom();
  RaiseTraceLevel(static_cast<TraceLevel>(config.trace));
  File& made = files_[number];
  made.opened = 1;
  any_remote_ = any_remote_ || bytes->is_remote();
  made.accelerate = config.accelerate;
  made.source.always = config.accelerate == Config::Accelerate::kAlways;
  any_always_ = any_always_ || made.source.always;
  made.bytes = bytes;
  if (!bytes->is_remote()) made.local = std::move(bytes);
  made.source.requests = config.concurrency;
  made.source.options.executor = ExecutorFor(config.threads);
  made.source.options.cache_bytes = config.cache_bytes;
  made.source.options.memory_bytes = config.memory_bytes;
  made.source.options.read_only = true;
}

void NativeFiles::NoteReopened(void* under) {
  if (const auto number = NumberOf(under)) ++files_[*number].opened;
}

std::optional<unsigned long> NativeFiles::NumberOf(void* under) const {
  if (files_.empty()) return std::nullopt;
  const Result<unsigned long> number = host::FileNumber(under);
  if (!number.ok() || files_.count(*number) == 0) return std::nullopt;
  return *number;
}

void NativeFiles::NoteClosing(unsigned long number) {
  const auto known = files_.find(number);
  if (known == files_.end()) return;
  File& file = known->second;
  if (file.opened > 0) --file.opened;
  if (file.opened > 0) return;
  // Datasets that outlive the file may be read still, but have what they need.
  file.datasets.clear();
  file.held.clear();
}

bool NativeFiles::Knows(const Object& object) const {
  if (files_.empty()) return false;
  const Result<host::Identity> identity = host::Identify(object.native);
  return identity.ok() && files_.count(identity->fileno) > 0;
}

bool NativeFiles::ReadsAlways(const Object& object) const {
  if (!any_always_) return false;
  const Result<host::Identity> identity = host::Identify(object.native);
  if (!identity.ok()) return false;
  const auto file = files_.find(identity->fileno);
  return file != files_.end() && file->second.source.always;
}

void NativeFiles::Hold(const Object& dataset) {
  const host::KeepErrors keep;
  const Result<host::Identity> identity = host::Identify(dataset.native);
  if (!identity.ok()) return;
  const auto found = files_.find(identity->fileno);
  if (found == files_.end() || found->second.opened == 0) return;
  std::vector<Held>& held = found->second.held;
  const auto same = [&](const Held& one) { return one.token == identity->token; };
  if (std::any_of(held.begin(), held.end(), same)) return;
  Result<host::NativeHandle> opened = host::OpenByToken(dataset.native, identity->token);
  if (!opened.ok()) return;
  if (held.size() == kMaxHeld) held.erase(held.begin());
  held.push_back({identity->token, std::move(*opened), FixedExtentOf(dataset.native.under)});
}

const HeldExtent* NativeFiles::ExtentOfHeld(const Object& dataset) const {
  const auto holds = [](const auto& file) { return !file.second.held.empty(); };
  if (std::none_of(files_.begin(), files_.end(), holds)) return nullptr;
  const Result<host::Identity> identity = host::Identify(dataset.native);
  if (!identity.ok()) return nullptr;
  const auto file = files_.find(identity->fileno);
  if (file == files_.end()) return nullptr;
  for (const Held& held : file->second.held) {
    if (held.token == identity->token && !held.extent.dims.empty()) return &held.extent;
  }
  return nullptr;
}

void NativeFiles::MakeRoom() {
  if (files_.size() < kMaxFiles) return;
  std::erase_if(files_, [](const auto& file) { return file.second.opened == 0; });
  if (files_.size() >= kMaxFiles) files_.erase(files_.begin());
}

std::shared_ptr<transfer::NativeChunks> NativeFiles::Find(const Object& dataset, bool known_only) {
  if (files_.empty()) return nullptr;
  const Result<host::Identity> identity = host::Identify(dataset.native);
  if (!identity.ok()) return nullptr;
  const auto file = files_.find(identity->fileno);
  if (file == files_.end() || file->second.accelerate == Config::Accelerate::kOff) return nullptr;
  auto& datasets = file->second.datasets;
  const auto known = datasets.find(identity->token);
  if (known != datasets.end() || known_only) {
    return known != datasets.end() ? known->second : nullptr;
  }
  uint64_t index_bytes = 0;
  for (const auto& [token, chunks] : datasets) {
    index_bytes += chunks != nullptr ? chunks->index_bytes() : 0;
  }
  if (index_bytes > kMaxIndexBytes) datasets.clear();  // what is open has its own
  transfer::NativeSource source = file->second.source;
  source.file = file->second.bytes.lock();
  if (source.file == nullptr) return nullptr;
  const std::optional<std::string> raw = RawDataOf(dataset);
  auto made = raw ? transfer::NativeChunks::DescribeVersioned(dataset.native.under, *raw, source)
                  : transfer::NativeChunks::Describe(dataset.native.under, source);
  return datasets[identity->token] = made.ok() ? std::move(*made) : nullptr;
}

void NativeFiles::GiveUp(const Object& dataset) {
  const Result<host::Identity> identity = host::Identify(dataset.native);
  if (!identity.ok()) return;
  const auto file = files_.find(identity->fileno);
  if (file != files_.end()) file->second.datasets[identity->token] = nullptr;
}

bool IsInRemoteFile(const Object& object) {
  if (object.store != nullptr) return IsRemoteName(object.store->path());
  char beginning[16] = "";
  std::size_t length = 0;
  H5VL_file_get_args_t args;
  args.op_type = H5VL_FILE_GET_NAME;
  args.args.get_name = {object.native.type, sizeof beginning, beginning, &length};
  return H5VLfile_get(object.native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) >= 0 &&
         IsRemoteName(beginning);
}

Status RefuseLocalFiles(const Object& dataset) {
  // (Asked before every read of a native file.)
  const bool may_be_remote = dataset.store != nullptr || GetConnector().native_files.any_remote();
  if (!may_be_remote || !IsInRemoteFile(dataset)) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, transfer::AskDataset(dataset.native.under, H5VL_DATASET_GET_DCPL));
  if (H5Pget_layout(dcpl.get()) != H5D_CONTIGUOUS || H5Pget_external_count(dcpl.get()) <= 0) {
    return OkStatus();
  }
  return PermissionDeniedError(
      "the elements of a dataset of a remote file are said to be in files of this "
      "machine (external storage), which no remote file may name");
}

std::optional<std::string> RawDataOf(const Object& dataset) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  const H5VL_loc_params_t loc = host::LocSelf(dataset.native.type);
  // First, as HDF5 may have to search the file for the name of an object that was not opened by one.
  for (const char* attribute : {"raw_data", "chunks"}) {
    hbool_t exists = false;
    H5VL_attr_specific_args_t args;
    args.op_type = H5VL_ATTR_EXISTS;
    args.args.exists.name = attribute;
    args.args.exists.exists = &exists;
    if (H5VLattr_specific(dataset.native.under, &loc, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) <
            0 ||
        !exists) {
      return std::nullopt;
    }
  }
  char path[1024];
  std::size_t length = 0;
  H5VL_object_get_args_t name;
  name.op_type = H5VL_OBJECT_GET_NAME;
  name.args.get_name.buf_size = sizeof path;
  name.args.get_name.buf = path;
  name.args.get_name.name_len = &length;
  if (H5VLobject_get(dataset.native.under, &loc, host::NativeConnector(), &name, host::DefaultDxpl(), nullptr) < 0 ||
      length == 0 || length >= sizeof path) {
    return std::nullopt;
  }
  return transfer::RawDataPath(std::string_view(path, length));
}

transfer::NativeChunks* EngineFor(const DatasetPart& part) {
  Object* object = part.object;
  if (object->read_by_hdf5 || object->virtual_data != nullptr || part.read_buffer == nullptr) {
    return nullptr;
  }
  const std::optional<uint64_t> elems = ElemsOf(part);
  if (!elems || *elems == 0) return nullptr;
  // (One element is taken for small without a question: most reads of one are.)
  const std::size_t mem_bytes = *elems == 1 ? 1 : H5Tget_size(part.mem_type);
  // Once the mappings of a versioned dataset are known, HDF5 need not look at them any more.
  bool small = *elems < kLeastBytes / std::max<std::size_t>(mem_bytes, 1);
  // (Of a remote file a few elements may be as many requests.)
  if (small && GetConnector().native_files.any_remote() && IsInRemoteFile(*object)) small = false;
  if (small && GetConnector().native_files.ReadsAlways(*object)) small = false;
  if (small && !object->is_versioned) return nullptr;
  const unsigned many = host::HostVersion().major >= 2 ? kManyReads : kManyReadsOf114;
  small = small && ++object->small_reads < many;
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  if (object->native_chunks == nullptr) {
    object->native_chunks = GetConnector().native_files.Find(*object, small);
    if (object->native_chunks == nullptr) {
      object->read_by_hdf5 = !small;
      return nullptr;
    }
  }
  transfer::NativeChunks* chunks = object->native_chunks.get();
  const bool known = object->is_versioned && chunks->chunks_found();
  if (!known && (small || !chunks->Pays(part.file_space, *elems))) return nullptr;
  if (chunks->FindChunks(object->native.under).ok()) return chunks;
  GetConnector().native_files.GiveUp(*object);
  object->native_chunks.reset();
  object->read_by_hdf5 = true;
  return nullptr;
}

Status ReadByEngine(std::span<const DatasetPart> parts, hid_t dxpl) {
  const host::KeepErrors keep;
  const host::QuietErrors quiet;
  std::vector<transfer::DatasetTransfer> batch;
  for (const DatasetPart& part : parts) {
    transfer::DatasetTransfer& transfer = batch.emplace_back();
    part.object->native_chunks->SetTransfer(&transfer);
    transfer.mem_type = part.mem_type;
    transfer.mem_space = part.mem_space;
    transfer.file_space = part.file_space;
    transfer.read_buffer = part.read_buffer;
  }
  const Status status = transfer::ReadDatasets(batch, dxpl);
  if (status.code() == StatusCode::kChanged) {  // so it will be the next time
    for (const DatasetPart& part : parts) part.object->read_by_hdf5 = true;
  }
  return status;
}

void LetGoOfEngine(Object* dataset) {
  if (dataset->native_chunks == nullptr) return;
  // Beside this object only the file knows it.
  if (dataset->native_chunks.use_count() <= 2) dataset->native_chunks->DropCache();
  dataset->native_chunks.reset();
}

}  // namespace h5zarr
