#include "mirror/source_dataset.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "mirror/hdf5_read.h"
#include "shadow/dataset_map.h"
#include "shadow/filters_map.h"
#include "shadow/hdf5_attribute.h"

namespace h5zarr::mirror {
namespace {

using Form = shadow::ElementMap::Form;
using zarr::CodecSpec;
using zarr::Json;

const std::vector<std::string> kOwnAttributes = {"raw_data", "chunks"};

Result<std::vector<uint64_t>> ExtentOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 0) return Hdf5Error("a dataspace");
  std::vector<hsize_t> dims(static_cast<std::size_t>(rank));
  if (rank > 0 && H5Sget_simple_extent_dims(space, dims.data(), nullptr) < 0) {
    return Hdf5Error("a dataspace");
  }
  return std::vector<uint64_t>(dims.begin(), dims.end());
}

// The codecs whose bytes are those of `filters`, each of which numcodecs has; nothing where one is not.
std::optional<std::vector<CodecSpec>> NumcodecsFor(const std::vector<shadow::Filter>& filters,
                                                   uint64_t elem_bytes) {
  std::vector<CodecSpec> codecs;
  for (const shadow::Filter& filter : filters) {
    Json configuration = Json::object();
    switch (filter.id) {
      case H5Z_FILTER_SHUFFLE:
        configuration["elementsize"] = elem_bytes;
        codecs.push_back({"numcodecs.shuffle", configuration});
        break;
      case H5Z_FILTER_DEFLATE:
        configuration["level"] = filter.cd_values.empty() ? 6u : filter.cd_values[0];
        codecs.push_back({"numcodecs.zlib", configuration});
        break;
      case H5Z_FILTER_FLETCHER32: codecs.push_back({"numcodecs.fletcher32", configuration}); break;
      default: return std::nullopt;
    }
  }
  return codecs;
}

// A single block; nothing for any other selection.
struct Block {
  std::vector<uint64_t> start;
  std::vector<uint64_t> end;  // exclusive
};
std::optional<Block> BlockOf(hid_t space) {
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank <= 0) return std::nullopt;
  std::vector<hsize_t> first(static_cast<std::size_t>(rank));
  std::vector<hsize_t> last(first.size());
  if (H5Sget_select_bounds(space, first.data(), last.data()) < 0) return std::nullopt;
  Block block;
  std::vector<uint64_t> extent;
  for (std::size_t i = 0; i < first.size(); ++i) {
    block.start.push_back(first[i]);
    block.end.push_back(last[i] + 1);
    extent.push_back(last[i] + 1 - first[i]);
  }
  const auto elems = CheckedProduct(extent);
  const hssize_t selected = H5Sget_select_npoints(space);
  if (!elems || selected < 0 || *elems != static_cast<uint64_t>(selected)) return std::nullopt;
  return block;
}

}  // namespace

Result<SourceDataset> SourceDataset::Open(hid_t file, hid_t dataset, const std::string& path,
                                          Encoding encoding) {
  SourceDataset source;
  source.path_ = path;
  const auto open = [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(source.source_.name, TextAttribute(dataset, "raw_data"));
    H5ZARR_ASSIGN_OR_RETURN(source.chunk_shape_, NumbersAttribute(dataset, "chunks"));
    source.source_.dataset = Handle(H5Dopen2(file, source.source_.name.c_str(), H5P_DEFAULT));
    if (!source.source_.dataset.valid()) return Hdf5Error("'" + source.source_.name + "'");
    H5ZARR_RETURN_IF_ERROR(source.PlanDocument(dataset, encoding));
    return source.ReadMapping(dataset);
  };
  const Status opened = open();
  if (!opened.ok()) return opened.WithContext("dataset '" + path + "'");
  return source;
}

Status SourceDataset::PlanDocument(hid_t dataset, Encoding encoding) {
  const hid_t raw = source_.dataset.get();
  const Handle type(H5Dget_type(raw));
  const Handle space(H5Dget_space(dataset));
  const Handle dcpl(H5Dget_create_plist(raw));
  if (!type.valid() || !space.valid() || !dcpl.valid()) return Hdf5Error("its description");
  H5ZARR_ASSIGN_OR_RETURN(shape_, ExtentOf(space.get()));
  if (shape_.empty() || shape_.size() != chunk_shape_.size()) {
    return UnsupportedError("its rank is " + std::to_string(shape_.size()) +
                            ", that of its chunks " + std::to_string(chunk_shape_.size()));
  }
  H5ZARR_ASSIGN_OR_RETURN(shadow::DatasetPlan plan,
                          shadow::PlanCreate(type.get(), space.get(), dcpl.get(), Config()));
  if (!std::equal(chunk_shape_.begin(), chunk_shape_.end(), plan.metadata.chunk_shape.begin())) {
    return UnsupportedError("its chunks are not those of '" + source_.name + "'");
  }
  metadata_ = std::move(plan.metadata);
  element_ = std::move(plan.element);
  if (element_.form != Form::kPlain && element_.form != Form::kVlenString) {
    return UnsupportedError("elements of this type are not mirrored");
  }
  if (element_.form == Form::kPlain) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle stored, shadow::StoredType(element_));
    H5ZARR_ASSIGN_OR_RETURN(const auto filters, shadow::FiltersOfDcpl(dcpl.get()));
    // Elements that lie in the file as they would in Zarr.
    const bool same_elements = H5Tequal(stored.get(), type.get()) > 0 ||
                               element_.dtype.kind == DType::Kind::kBool;
    if (encoding == Encoding::kPassthrough && same_elements) {
      const auto numcodecs = NumcodecsFor(filters, H5Tget_size(type.get()));
      passthrough_ = shadow::SameBytes(metadata_.codecs, filters);
      if (!passthrough_ && numcodecs) {
        passthrough_ = true;
        metadata_.codecs = *numcodecs;
      }
    }
  }
  H5ZARR_RETURN_IF_ERROR(AddAttributes(dataset, kOwnAttributes, &metadata_.attributes));
  // xarray needs names. They are no dimension scales of HDF5's, nor labels.
  const std::string leaf = path_.substr(path_.rfind('/') + 1);
  for (std::size_t i = 0; i < metadata_.shape.size(); ++i) {
    metadata_.dimension_names.emplace_back(leaf + "_" + std::to_string(i));
  }
  shadow::SetHdf5Member(&metadata_.attributes, "scales", false);
  shadow::SetHdf5Member(&metadata_.attributes, "labels", Json::array());
  H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatArray(metadata_));
  document_ = texts.document;
  H5ZARR_ASSIGN_OR_RETURN(chain_, zarr::CodecChain::Make(metadata_.dtype, metadata_.chunk_shape,
                                                         metadata_.codecs, metadata_.fill));
  return OkStatus();
}

Result<SourceChunk> SourceDataset::MappingAt(hid_t dcpl, std::size_t number) const {
  const auto strange = [&](const std::string& what) {
    return UnsupportedError("mapping " + std::to_string(number) + ": " + what);
  };
  char name[1024];
  if (H5Pget_virtual_filename(dcpl, number, name, sizeof name) < 0) return Hdf5Error("a mapping");
  if (std::string(name) != ".") return strange("its source is in another file, '" + std::string(name) + "'");
  if (H5Pget_virtual_dsetname(dcpl, number, name, sizeof name) < 0) return Hdf5Error("a mapping");
  if (name != source_.name) return strange("its source is '" + std::string(name) + "', not raw_data");
  const Handle target_space(H5Pget_virtual_vspace(dcpl, number));
  const Handle source_space(H5Pget_virtual_srcspace(dcpl, number));
  if (!target_space.valid() || !source_space.valid()) return Hdf5Error("a mapping");
  const auto target = BlockOf(target_space.get());
  const auto source = BlockOf(source_space.get());
  const std::size_t rank = shape_.size();
  if (!target || !source || target->start.size() != rank || source->start.size() != rank) {
    return strange("not from one block to one");
  }
  SourceChunk chunk;
  for (std::size_t i = 0; i < rank; ++i) {
    const uint64_t extent = target->end[i] - target->start[i];
    const uint64_t whole = std::min(chunk_shape_[i], shape_[i] - std::min(shape_[i], target->start[i]));
    const bool starts_chunk = target->start[i] % chunk_shape_[i] == 0 &&
                              source->start[i] % chunk_shape_[i] == 0 &&
                              (i == 0 || source->start[i] == 0);
    if (!starts_chunk || extent != whole || source->end[i] - source->start[i] != extent) {
      return strange("not from one chunk to one");
    }
    const uint64_t index = target->start[i] / chunk_shape_[i];
    if (index >= UINT32_MAX) return strange("beyond 2^32 chunks");
    chunk.index.push_back(static_cast<uint32_t>(index));
  }
  chunk.index.resize(metadata_.shape.size());  // dimensions of an element are one chunk
  chunk.slot = source->start[0] / chunk_shape_[0];
  return chunk;
}

Status SourceDataset::ReadMapping(hid_t dataset) {
  const Handle dcpl(H5Dget_create_plist(dataset));
  if (!dcpl.valid()) return Hdf5Error("its mappings");
  if (H5Pget_layout(dcpl.get()) != H5D_VIRTUAL) {
    // versioned-hdf5 makes these where all is fill. Of any other we would not know the chunks.
    if (H5Dget_storage_size(dataset) == 0) return OkStatus();
    return UnsupportedError("it is no virtual dataset");
  }
  std::size_t mappings = 0;
  if (H5Pget_virtual_count(dcpl.get(), &mappings) < 0) return Hdf5Error("its mappings");
  chunks_.reserve(mappings);
  for (std::size_t i = 0; i < mappings; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(SourceChunk chunk, MappingAt(dcpl.get(), i));
    chunks_.push_back(std::move(chunk));
  }
  std::sort(chunks_.begin(), chunks_.end(),
            [](const SourceChunk& a, const SourceChunk& b) { return a.index < b.index; });
  for (std::size_t i = 1; i < chunks_.size(); ++i) {
    if (chunks_[i].index == chunks_[i - 1].index) return CorruptError("two mappings of one chunk");
  }
  return OkStatus();
}

Result<std::optional<Buffer>> SourceDataset::ReadSlot(uint64_t slot) const {
  const hid_t raw = source_.dataset.get();
  std::vector<hsize_t> offset(shape_.size(), 0);
  offset[0] = slot * chunk_shape_[0];
  hsize_t bytes = 0;
  const std::string what = "chunk " + std::to_string(slot) + " of '" + source_.name + "'";
  if (H5Dget_chunk_storage_size(raw, offset.data(), &bytes) < 0) return Hdf5Error(what);
  if (bytes == 0) return std::optional<Buffer>();
  if (passthrough_) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(bytes));
    uint32_t skipped_filters = 0;
    if (H5Dread_chunk(raw, H5P_DEFAULT, offset.data(), &skipped_filters, encoded.data()) < 0) {
      return Hdf5Error(what);
    }
    if (skipped_filters == 0) return std::optional<Buffer>(std::move(encoded));
  }
  auto encoded = EncodeSlot(slot);
  if (!encoded.ok()) return encoded.status().WithContext(what);
  return std::optional<Buffer>(std::move(*encoded));
}

Result<Buffer> SourceDataset::EncodeSlot(uint64_t slot) const {
  const hid_t raw = source_.dataset.get();
  std::vector<hsize_t> start(shape_.size(), 0);
  start[0] = slot * chunk_shape_[0];
  const std::vector<hsize_t> block(chunk_shape_.begin(), chunk_shape_.end());
  const Handle file_space(H5Dget_space(raw));
  const Handle memory_space(
      H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
  if (!file_space.valid() || !memory_space.valid()) return Hdf5Error("dataspaces");
  // The last axes of raw_data may be shorter than a chunk: what is outside is not there to be read.
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> raw_shape, ExtentOf(file_space.get()));
  std::vector<hsize_t> count = block;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (start[i] >= raw_shape[i]) return CorruptError("it lies outside of the extent");
    count[i] = std::min<hsize_t>(count[i], raw_shape[i] - start[i]);
  }
  const std::vector<hsize_t> origin(count.size(), 0);
  if (H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(),
                          nullptr) < 0 ||
      H5Sselect_hyperslab(memory_space.get(), H5S_SELECT_SET, origin.data(), nullptr, count.data(),
                          nullptr) < 0) {
    return Hdf5Error("selections");
  }
  if (element_.form == Form::kVlenString) return EncodeTexts(memory_space.get(), file_space.get());
  H5ZARR_ASSIGN_OR_RETURN(const Handle stored, shadow::StoredType(element_));
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(chain_->decoded_bytes()));
  const ByteSpan fill = chain_->fill_elem();
  for (uint64_t at = 0; at + fill.size() <= elems.size_bytes(); at += fill.size()) {
    std::memcpy(elems.data() + at, fill.data(), fill.size());
  }
  if (H5Dread(raw, stored.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, elems.data()) < 0) {
    return Hdf5Error("its elements");
  }
  return chain_->Encode(elems);
}

Result<Buffer> SourceDataset::EncodeTexts(hid_t memory_space, hid_t file_space) const {
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::ReportedType(element_));
  std::vector<char*> texts(chain_->elems(), nullptr);
  if (H5Dread(source_.dataset.get(), type.get(), memory_space, file_space, H5P_DEFAULT,
              texts.data()) < 0) {
    return Hdf5Error("its texts");
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(texts.size() * sizeof(VlenRef)));
  for (std::size_t i = 0; i < texts.size(); ++i) {
    VlenRef ref;
    if (texts[i] != nullptr) {
      ref = {std::strlen(texts[i]), reinterpret_cast<const std::byte*>(texts[i])};
    }
    std::memcpy(elems.data() + i * sizeof ref, &ref, sizeof ref);
  }
  Result<Buffer> encoded = chain_->Encode(elems);
  H5Treclaim(type.get(), memory_space, H5P_DEFAULT, texts.data());
  return encoded;
}

}  // namespace h5zarr::mirror
