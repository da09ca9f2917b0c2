#include "mirror/source_dataset.h"

#include <algorithm>
#include <cstring>

#include "mirror/hdf5_read.h"
#include "shadow/dataset_map.h"
#include "shadow/filters_map.h"
#include "shadow/hdf5_member.h"

namespace h5zarr::mirror {
namespace {

using Form = shadow::ElementMap::Form;
using zarr::CodecSpec;
using zarr::Json;

const std::vector<std::string> kOwnAttributes = {"raw_data", "chunks"};

// The codecs whose bytes are those of `filters`, each of which numcodecs has; nothing where one is not.
std::optional<std::vector<CodecSpec>> NumcodecsFor(const std::vector<shadow::Filter>& filters, uint64_t elem_bytes) {
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

}  // namespace

Result<SourceDataset> SourceDataset::Open(SourceFile* file, hid_t group, const std::string& member,
                                          const std::string& path, Encoding encoding) {
  SourceDataset source;
  source.path_ = path;
  const auto open = [&]() -> Status {
    H5ZARR_ASSIGN_OR_RETURN(const std::string raw_name, TextAttribute(group, "raw_data", member));
    H5ZARR_ASSIGN_OR_RETURN(source.chunk_shape_, NumbersAttribute(group, "chunks", member));
    H5ZARR_ASSIGN_OR_RETURN(source.raw_, file->FindRaw(raw_name));
    H5ZARR_ASSIGN_OR_RETURN(Header header, ReadHeader(*file, group, member));
    H5ZARR_RETURN_IF_ERROR(source.PlanDocument(group, member, header.space.get(), encoding));
    H5ZARR_RETURN_IF_ERROR(source.FindChunks(group, member, &header));
    return source.CheckSlots();
  };
  const Status opened = open();
  if (!opened.ok()) return opened.WithContext("dataset '" + path + "'");
  return source;
}

Result<SourceDataset::Header> SourceDataset::ReadHeader(const SourceFile& file, hid_t group,
                                                        const std::string& member) {
  Header header;
  H5O_info2_t info;
  if (H5Oget_info_by_name3(group, member.c_str(), &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
    return Hdf5Error("its description");
  }
  Result<transfer::VirtualHeader> raw =
      file.headers() != nullptr ? file.headers()->Read(info.token) : UnsupportedError("no bytes");
  if (raw.ok()) {
    const std::vector<hsize_t> extent(raw->extent.begin(), raw->extent.end());
    const std::vector<hsize_t> max_extent(raw->max_extent.begin(), raw->max_extent.end());
    header.space = Handle(H5Screate_simple(static_cast<int>(extent.size()), extent.data(), max_extent.data()));
    header.mappings = std::move(raw->mappings);
  } else {
    H5Eclear2(H5E_DEFAULT);
    header.dataset = Handle(H5Dopen2(group, member.c_str(), H5P_DEFAULT));
    if (!header.dataset.valid()) return Hdf5Error("its description");
    header.space = Handle(H5Dget_space(header.dataset.get()));
  }
  if (!header.space.valid()) return Hdf5Error("its extent");
  return header;
}

Status SourceDataset::PlanDocument(hid_t group, const std::string& member, hid_t space, Encoding encoding) {
  const hid_t type = raw_->type.get(), dcpl = raw_->dcpl.get();
  H5ZARR_ASSIGN_OR_RETURN(shape_, ExtentOf(space));
  if (shape_.empty() || shape_.size() != chunk_shape_.size()) {
    return UnsupportedError("its rank is " + std::to_string(shape_.size()) + ", that of its chunks " +
                            std::to_string(chunk_shape_.size()));
  }
  H5ZARR_ASSIGN_OR_RETURN(shadow::DatasetPlan plan, shadow::PlanCreate(type, space, dcpl, Config()));
  if (!std::equal(chunk_shape_.begin(), chunk_shape_.end(), plan.metadata.chunk_shape.begin())) {
    return UnsupportedError("its chunks are not those of '" + raw_->name + "'");
  }
  metadata_ = std::move(plan.metadata);
  element_ = std::move(plan.element);
  if (element_.form != Form::kPlain && element_.form != Form::kVlenString) {
    return UnsupportedError("elements of this type are not mirrored");
  }
  if (element_.form == Form::kPlain) {
    H5ZARR_ASSIGN_OR_RETURN(const Handle stored, shadow::StoredType(element_));
    H5ZARR_ASSIGN_OR_RETURN(const auto filters, shadow::FiltersOfDcpl(dcpl));
    // Elements that lie in the file as they would in Zarr.
    const bool same_elements = H5Tequal(stored.get(), type) > 0 || element_.dtype.kind == DType::Kind::kBool;
    if (encoding == Encoding::kPassthrough && same_elements) {
      const auto numcodecs = NumcodecsFor(filters, H5Tget_size(type));
      passthrough_ = shadow::SameBytes(metadata_.codecs, filters);
      if (!passthrough_ && numcodecs) {
        passthrough_ = true;
        metadata_.codecs = *numcodecs;
      }
    }
  }
  H5ZARR_RETURN_IF_ERROR(AddAttributes(group, member, kOwnAttributes, &metadata_.attributes));
  // xarray needs names. They are no dimension scales of HDF5's, nor labels.
  const std::string leaf = path_.substr(path_.rfind('/') + 1);
  for (std::size_t i = 0; i < metadata_.shape.size(); ++i) {
    metadata_.dimension_names.emplace_back(leaf + "_" + std::to_string(i));
  }
  shadow::SetHdf5Member(&metadata_.attributes, "scales", false);
  shadow::SetHdf5Member(&metadata_.attributes, "labels", Json::array());
  H5ZARR_ASSIGN_OR_RETURN(const zarr::MetadataTexts texts, zarr::FormatArray(metadata_));
  document_ = texts.document;
  H5ZARR_ASSIGN_OR_RETURN(
      chain_, zarr::CodecChain::Make(metadata_.dtype, metadata_.chunk_shape, metadata_.codecs, metadata_.fill));
  return OkStatus();
}

Status SourceDataset::FindChunks(hid_t group, const std::string& member, Header* header) {
  const transfer::MappedDataset mapped{raw_->name, shape_, chunk_shape_, metadata_.shape.size()};
  chunks_.indexes.rank = mapped.index_rank;
  if (header->mappings) {
    if (header->mappings->empty()) return OkStatus();
    Result<transfer::ChunkMap> map = transfer::MapFromBytes(mapped, *header->mappings);
    if (map.ok()) chunks_ = std::move(*map);
    if (map.ok()) return OkStatus();
    header->dataset = Handle(H5Dopen2(group, member.c_str(), H5P_DEFAULT));
  }
  const Handle dcpl(H5Dget_create_plist(header->dataset.get()));
  if (!dcpl.valid()) return Hdf5Error("its mappings");
  if (H5Pget_layout(dcpl.get()) != H5D_VIRTUAL) {
    // versioned-hdf5 makes these where all is fill. Of any other we would not know the chunks.
    if (H5Dget_storage_size(header->dataset.get()) == 0) return OkStatus();
    return UnsupportedError("it is no virtual dataset");
  }
  H5ZARR_ASSIGN_OR_RETURN(chunks_, transfer::MapByHdf5(mapped, dcpl.get()));
  return OkStatus();
}

Status SourceDataset::CheckSlots() const {
  for (const uint64_t slot : chunks_.slots) {
    if (slot >= raw_->chunks.size()) {
      return CorruptError("its chunk " + std::to_string(slot) + " is not in '" + raw_->name + "', which has " +
                          std::to_string(raw_->chunks.size()));
    }
  }
  return OkStatus();
}

uint64_t SourceDataset::SlotBytes(uint64_t slot) const {
  return std::max<uint64_t>(raw_->chunks[slot].bytes, IsAtHand(slot) ? 0 : chain_->decoded_bytes());
}

Result<Buffer> SourceDataset::ReadSlot(uint64_t slot, bool* is_encoded) const {
  const std::string what = "chunk " + std::to_string(slot) + " of '" + raw_->name + "'";
  const RawChunk& chunk = raw_->chunks[slot];
  *is_encoded = passthrough_ && chunk.has_all_filters;
  if (*is_encoded) {
    std::vector<hsize_t> offset(shape_.size(), 0);
    offset[0] = slot * chunk_shape_[0];
    H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(chunk.bytes));
    uint32_t skipped_filters = 0;
    if (H5Dread_chunk(raw_->dataset.get(), H5P_DEFAULT, offset.data(), &skipped_filters, encoded.data()) < 0) {
      return Hdf5Error(what);
    }
    return encoded;
  }
  auto elems = ReadElements(slot, is_encoded);
  if (!elems.ok()) return elems.status().WithContext(what);
  return elems;
}

Result<Buffer> SourceDataset::ReadElements(uint64_t slot, bool* is_encoded) const {
  const hid_t raw = raw_->dataset.get();
  std::vector<hsize_t> start(shape_.size(), 0);
  start[0] = slot * chunk_shape_[0];
  const std::vector<hsize_t> block(chunk_shape_.begin(), chunk_shape_.end());
  const Handle file_space(H5Dget_space(raw));
  const Handle memory_space(H5Screate_simple(static_cast<int>(block.size()), block.data(), nullptr));
  if (!file_space.valid() || !memory_space.valid()) return Hdf5Error("dataspaces");
  // The last axes of raw_data may be shorter than a chunk: what is outside is not there to be read.
  H5ZARR_ASSIGN_OR_RETURN(const std::vector<uint64_t> raw_shape, ExtentOf(file_space.get()));
  std::vector<hsize_t> count = block;
  for (std::size_t i = 0; i < count.size(); ++i) {
    if (start[i] >= raw_shape[i]) return CorruptError("it lies outside of the extent");
    count[i] = std::min<hsize_t>(count[i], raw_shape[i] - start[i]);
  }
  const std::vector<hsize_t> origin(count.size(), 0);
  if (H5Sselect_hyperslab(file_space.get(), H5S_SELECT_SET, start.data(), nullptr, count.data(), nullptr) < 0 ||
      H5Sselect_hyperslab(memory_space.get(), H5S_SELECT_SET, origin.data(), nullptr, count.data(), nullptr) < 0) {
    return Hdf5Error("selections");
  }
  if (element_.form == Form::kVlenString) {
    *is_encoded = true;
    return EncodeTexts(memory_space.get(), file_space.get());
  }
  H5ZARR_ASSIGN_OR_RETURN(const Handle stored, shadow::StoredType(element_));
  H5ZARR_ASSIGN_OR_RETURN(Buffer elems, Buffer::Allocate(chain_->decoded_bytes()));
  const ByteSpan fill = chain_->fill_elem();
  for (uint64_t at = 0; at + fill.size() <= elems.size_bytes(); at += fill.size()) {
    std::memcpy(elems.data() + at, fill.data(), fill.size());
  }
  if (H5Dread(raw, stored.get(), memory_space.get(), file_space.get(), H5P_DEFAULT, elems.data()) < 0) {
    return Hdf5Error("its elements");
  }
  return elems;
}

Result<Buffer> SourceDataset::EncodeTexts(hid_t memory_space, hid_t file_space) const {
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, shadow::ReportedType(element_));
  std::vector<char*> texts(chain_->elems(), nullptr);
  if (H5Dread(raw_->dataset.get(), type.get(), memory_space, file_space, H5P_DEFAULT, texts.data()) < 0) {
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
