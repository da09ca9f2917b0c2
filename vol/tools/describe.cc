#include "tools/describe.h"

#include <array>
#include <cstdio>
#include <memory>

#include "filter/shard_words.h"
#include "host/handle.h"
#include "mirror/hdf5_read.h"
#include "zarr/codec_specs.h"

namespace h5zarr::tools {
namespace {

using mirror::Hdf5Error;

std::string MemberName(hid_t type, unsigned index) {
  char* const name = H5Tget_member_name(type, index);
  const std::string copy = name != nullptr ? name : "?";
  H5free_memory(name);
  return copy;
}

std::string BitsText(const char* word, hid_t type) {
  std::string text = word + std::to_string(H5Tget_size(type) * 8);
  if (H5Tget_size(type) > 1 && H5Tget_order(type) == H5T_ORDER_BE) text += " big-endian";
  return text;
}

std::string StringText(hid_t type) {
  const std::string charset = H5Tget_cset(type) == H5T_CSET_ASCII ? "ascii " : "";
  if (H5Tis_variable_str(type) > 0) return charset + "string";
  return charset + "string of " + std::to_string(H5Tget_size(type)) + " bytes";
}

std::string CompoundText(hid_t type) {
  std::string text = "{";
  for (int i = 0; i < H5Tget_nmembers(type); ++i) {
    const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
    text += (i > 0 ? ", " : "") + MemberName(type, static_cast<unsigned>(i)) + ": " + TypeText(member.get());
  }
  return text + "}";
}

std::string EnumText(hid_t type) {
  const int members = H5Tget_nmembers(type);
  // What h5py and others make of booleans.
  if (members == 2 && H5Tget_size(type) == 1 && MemberName(type, 0) == "FALSE" && MemberName(type, 1) == "TRUE") {
    return "bool";
  }
  const Handle base(H5Tget_super(type));
  std::string text = "enum " + TypeText(base.get()) + " {";
  for (int i = 0; i < members; ++i) {
    text += (i > 0 ? ", " : "") + MemberName(type, static_cast<unsigned>(i));
  }
  return text + "}";
}

std::string ArrayText(hid_t type) {
  std::vector<hsize_t> dims(static_cast<std::size_t>(std::max(H5Tget_array_ndims(type), 0)));
  H5Tget_array_dims2(type, dims.data());
  const Handle base(H5Tget_super(type));
  return "array " + DimsText({dims.begin(), dims.end()}) + " of " + TypeText(base.get());
}

std::string ReferenceText(hid_t type) {
  if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) return "object reference";
  if (H5Tequal(type, H5T_STD_REF_DSETREG) > 0) return "region reference";
  return "reference";
}

std::string FilterName(hid_t dcpl, unsigned index) {
  unsigned flags = 0;
  std::size_t words = 0;
  char name[64] = "";
  const H5Z_filter_t id = H5Pget_filter2(dcpl, index, &flags, &words, nullptr, sizeof name - 1, name, nullptr);
  if (name[0] != '\0') return name;
  return "filter " + std::to_string(id);
}

std::string CodecText(const zarr::CodecSpec& codec) {
  if (const auto compressor = zarr::StringMember(codec.configuration, "cname")) {
    return codec.name + "(" + *compressor + ")";
  }
  return codec.name;
}

}  // namespace

std::string TypeText(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER: return BitsText(H5Tget_sign(type) == H5T_SGN_NONE ? "uint" : "int", type);
    case H5T_FLOAT: return BitsText("float", type);
    case H5T_BITFIELD: return BitsText("bits", type);
    case H5T_TIME: return BitsText("time", type);
    case H5T_STRING: return StringText(type);
    case H5T_OPAQUE: return "opaque of " + std::to_string(H5Tget_size(type)) + " bytes";
    case H5T_COMPOUND: return CompoundText(type);
    case H5T_REFERENCE: return ReferenceText(type);
    case H5T_ENUM: return EnumText(type);
    case H5T_VLEN: {
      const Handle base(H5Tget_super(type));
      return "sequence of " + TypeText(base.get());
    }
    case H5T_ARRAY: return ArrayText(type);
    default: return "complex of " + std::to_string(H5Tget_size(type)) + " bytes";  // since HDF5 2.0
  }
}

std::string ShapeText(const Shape& shape) {
  if (shape.kind == H5S_NULL) return "empty";
  return shape.kind == H5S_SCALAR ? "scalar" : DimsText(shape.dims);
}

std::string BytesText(uint64_t bytes) {
  constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f %s" : "%.1f %s", value, kUnits[unit]);
  return text;
}

Result<Storage> StorageOf(hid_t dataset) {
  const Handle dcpl(H5Dget_create_plist(dataset));
  if (!dcpl.valid()) return Hdf5Error("its creation properties");
  Storage storage;
  switch (H5Pget_layout(dcpl.get())) {
    case H5D_CHUNKED: storage.layout = "chunked"; break;
    case H5D_CONTIGUOUS: storage.layout = "contiguous"; break;
    case H5D_COMPACT: storage.layout = "compact"; break;
    case H5D_VIRTUAL: storage.layout = "virtual"; break;
    default: storage.layout = "unknown";
  }
  std::array<hsize_t, H5S_MAX_RANK> chunk{};
  if (storage.layout == "chunked") {
    const int rank = H5Pget_chunk(dcpl.get(), H5S_MAX_RANK, chunk.data());
    if (rank < 0) return Hdf5Error("its chunk");
    storage.chunks.assign(chunk.begin(), chunk.begin() + rank);
  }
  for (int i = 0; i < H5Pget_nfilters(dcpl.get()); ++i) {
    storage.codecs.push_back(FilterName(dcpl.get(), static_cast<unsigned>(i)));
  }
  storage.stored_bytes = storage.layout == "virtual" ? 0 : H5Dget_storage_size(dataset);
  H5Eclear2(H5E_DEFAULT);  // 0 may mean a failure: then there is nothing to say
  return storage;
}

void AddArrayDocument(const zarr::ArrayMetadata& metadata, Storage* storage) {
  storage->codecs.clear();
  storage->chunks = metadata.chunk_shape;
  storage->shards.clear();
  for (const zarr::CodecSpec& codec : metadata.codecs) {
    const auto sharding = filter::ShardingFromCodec(codec);
    if (!sharding) {
      storage->codecs.push_back(CodecText(codec));
      continue;
    }
    storage->shards = metadata.chunk_shape;
    storage->chunks = sharding->inner_shape;
    for (const zarr::CodecSpec& inner : sharding->inner_codecs) {
      storage->codecs.push_back(CodecText(inner));
    }
  }
}

}  // namespace h5zarr::tools
