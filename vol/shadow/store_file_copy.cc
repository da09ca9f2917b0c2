// Copying: arrays that come from a store, as H5Ocopy brings them.

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/checked.h"
#include "shadow/dimension_scales.h"
#include "shadow/hdf5_attribute.h"
#include "shadow/store_file.h"

namespace h5zarr::shadow {

using host::NativeHandle;

namespace {

// Objects above this are copied in pieces of it.
constexpr uint64_t kPieceBytes = 16 << 20;
// So many others are one batch of reads.
constexpr std::size_t kBatchObjects = 1024;

struct ObjectCopy {
  std::string from_key, to_key;
  uint64_t bytes = 0;
};

// What cannot be read or written once the chunks are listed is no lack of a list.
Status NotUnsupported(const Status& status) {
  return status.code() != StatusCode::kUnsupported ? status : Status(StatusCode::kIo, std::string(status.message()));
}

// Copies objects of one array from a store to another, or to other keys of the same.
class ObjectCopier {
 public:
  // `what` names the array that they are of.
  ObjectCopier(Store& from, Store& to, Executor& executor, std::string what)
      : from_(from), to_(to), executor_(executor), what_(std::move(what)) {}

  Status CopyAll(std::span<const ObjectCopy> objects) {
    std::vector<ObjectCopy> small;
    for (const ObjectCopy& object : objects) {
      if (object.bytes > kPieceBytes) {
        H5ZARR_RETURN_IF_ERROR(CopyInPieces(object));
        continue;
      }
      small.push_back(object);
      if (small.size() < kBatchObjects) continue;
      H5ZARR_RETURN_IF_ERROR(CopyWhole(small));
      small.clear();
    }
    return CopyWhole(small);
  }

 private:
  Status Vanished(const ObjectCopy& object) const {
    return ChangedError("chunk '" + object.from_key + "' of " + what_ + " vanished while it was copied");
  }

  Status CopyWhole(std::span<const ObjectCopy> objects) {
    constexpr double kWriteNs = 50'000, kWriteNsPerByte = 0.5;
    std::vector<ReadOp> ops(objects.size());
    for (std::size_t i = 0; i < objects.size(); ++i) {
      ops[i].key = objects[i].from_key;
      ops[i].sink_cost_ns = kWriteNs + kWriteNsPerByte * static_cast<double>(objects[i].bytes);
    }
    const auto write = [&](std::size_t i, const ReadResult& result) {
      return result.bytes ? to_.Write(objects[i].to_key, *result.bytes) : Vanished(objects[i]);
    };
    return from_.ReadBatch(ops, write, executor_);
  }

  Status CopyInPieces(const ObjectCopy& object) {
    H5ZARR_ASSIGN_OR_RETURN(const std::unique_ptr<ObjectWriter> writer, to_.BeginWrite(object.to_key));
    Generation state;
    const auto append = [&](std::size_t, const ReadResult& result) -> Status {
      if (!result.bytes) return Vanished(object);
      if (result.object_bytes != object.bytes) {
        return ChangedError("chunk '" + object.from_key + "' of " + what_ + " has been changed while it was copied");
      }
      state = result.generation;
      return writer->Append(*result.bytes);
    };
    for (uint64_t offset = 0; offset < object.bytes; offset += kPieceBytes) {
      ReadOp op;
      op.key = object.from_key;
      op.range = ByteRange::Span(offset, std::min(kPieceBytes, object.bytes - offset));
      op.expected = state;
      H5ZARR_RETURN_IF_ERROR(from_.ReadBatch({&op, 1}, append, executor_));
    }
    return writer->Commit();
  }

  Store& from_;
  Store& to_;
  Executor& executor_;
  const std::string what_;
};

}  // namespace

Status StoreFile::CopyChunks(const NodePtr& node, StoreFile& from, const NodePtr& source) {
  const zarr::ArrayMetadata& metadata = source->node.array();
  const std::string what = "'/" + source->path + "' of '" + from.name_ + "'";
  if (zarr::Array::CheckCodecs(metadata).ok()) {  // else nobody can have written to it
    H5ZARR_ASSIGN_OR_RETURN(zarr::Array* const array, from.OpenElements(source));
    H5ZARR_RETURN_IF_ERROR(array->Flush());
    // It has none for it is all fill, which is not stored yet either.
    if (array->omitted_fill()) {
      H5ZARR_ASSIGN_OR_RETURN(const bool has_chunks, array->HasStoredChunks());
      if (!has_chunks) SetHdf5Member(&node->node.attributes(), "written", true);
    }
  }
  const std::string prefix = source->path.empty() ? "" : source->path + "/";
  const zarr::ChunkKeyEncoding& encoding = node->node.array().key_encoding;
  ObjectCopier copier(*from.store_, *store_, *executor_, what);
  std::vector<ObjectCopy> objects;
  bool any_copied = false;
  const auto copy = [&]() -> Status {
    any_copied = true;
    H5ZARR_RETURN_IF_ERROR(EnsureStored(node));
    H5ZARR_RETURN_IF_ERROR(copier.CopyAll(objects));
    objects.clear();
    return OkStatus();
  };
  const Status copied = from.store_->Walk(source->path, [&](std::string_view key, uint64_t bytes) {
    if (!key.starts_with(prefix)) return OkStatus();
    const auto coords = metadata.key_encoding.Parse(key.substr(prefix.size()), metadata.rank());
    bool is_within = coords.has_value();
    for (std::size_t d = 0; is_within && d < metadata.rank(); ++d) {
      is_within = (*coords)[d] < CeilDiv(metadata.shape[d], metadata.chunk_shape[d]);
    }
    if (is_within) objects.push_back({std::string(key), JoinPath(node->path, encoding.Key(*coords)), bytes});
    // (A walk need not bear writing to the same store.)
    return objects.size() < kBatchObjects || &from == this ? OkStatus() : copy();
  });
  if (!copied.ok()) return any_copied ? NotUnsupported(copied) : copied;
  H5ZARR_RETURN_IF_ERROR(NotUnsupported(copy()));
  // An array without chunks is all fill, but not one that is gone.
  return from.CheckDocument(*source);
}

Result<bool> StoreFile::KeepDimensions(const NodePtr& node, StoreFile& from, const NodePtr& source) {
  const auto& changed = source->changed_attributes;
  if (std::any_of(changed.begin(), changed.end(), IsDimensionAttribute)) return false;
  // (A scale's own dimension has its own name.)
  if (source->dataset.is_scale && NameOf(node->path) != NameOf(source->path)) return false;
  H5ZARR_ASSIGN_OR_RETURN(const bool are_implied, from.HasImpliedScales(source));
  Json* const attributes = &node->node.attributes();
  if (!are_implied && !DimensionNamesOf(node->node.array()).empty()) {  // which would mean others here
    SetHdf5Member(attributes, "scales", false);
    if (Hdf5Member(*attributes, "labels").is_null()) SetHdf5Member(attributes, "labels", Json::array());
  }
  std::erase_if(node->changed_attributes, IsDimensionAttribute);
  node->dataset.is_scale = source->dataset.is_scale;
  return true;
}

Status StoreFile::LoadDimensionsOfCopy(const NodePtr& node) {
  H5ZARR_ASSIGN_OR_RETURN(const NativeHandle native, host::OpenByToken(Location(), node->token));
  for (const char* name : {"DIMENSION_LIST", "REFERENCE_LIST", "DIMENSION_LABELS"}) {
    H5ZARR_RETURN_IF_ERROR(DeleteNativeAttribute(native.object(), name));
  }
  std::erase_if(node->changed_attributes, IsDimensionAttribute);  // references among them were written anew
  const NodePtr group = node->placed ? nodes_.At(std::string(ParentOf(node->path))) : nullptr;
  return group == nullptr ? OkStatus() : LoadDimensions(group, node, native.object());
}

}  // namespace h5zarr::shadow
