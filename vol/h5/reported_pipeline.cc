#include "h5/reported_pipeline.h"

#include <optional>
#include <vector>

#include "codec/reframe.h"
#include "codec/registry.h"
#include "shadow/dataset_map.h"

namespace h5zarr {
namespace {

using codec::AnyCodec;
using codec::BytesCodec;
using codec::Json;

// The reported pipeline, as codecs in encoding order; nothing when the stored bytes are already those
// of the pipeline.
struct Pipeline {
  bool verbatim = true;
  bool gzip = false;  // deflate in gzip's framing
  bool unfiltered = false;
  std::vector<std::unique_ptr<BytesCodec>> filters;
};

Result<std::unique_ptr<BytesCodec>> MakeFilter(std::string_view name, const Json& configuration, const DType& dtype) {
  codec::ChunkSpec input;
  input.dtype = dtype;
  H5ZARR_ASSIGN_OR_RETURN(AnyCodec made, codec::MakeCodec(name, configuration, input));
  auto* bytes = std::get_if<std::unique_ptr<BytesCodec>>(&made);
  if (bytes == nullptr) return InternalError("filter is no bytes codec");
  return std::move(*bytes);
}

Result<Handle> ReportedDcpl(Object* object) {
  H5VL_dataset_get_args_t args;
  args.op_type = H5VL_DATASET_GET_DCPL;
  if (H5VLdataset_get(object->native.under, host::NativeConnector(), &args, host::DefaultDxpl(), nullptr) < 0) {
    return host::AlreadyReported();
  }
  return Handle(args.args.get_dcpl.dcpl_id);
}

Result<Pipeline> PipelineOf(Object* object, const zarr::Array& array) {
  Pipeline pipeline;
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, ReportedDcpl(object));
  const int count = H5Pget_nfilters(dcpl.get());
  if (count < 0) return host::AlreadyReported();
  pipeline.unfiltered = count == 0;
  const shadow::ChunkForm form = shadow::FormOfStoredChunks(array.metadata(), dcpl.get());
  if (form == shadow::ChunkForm::kVerbatim) return pipeline;
  pipeline.verbatim = false;
  pipeline.gzip = form == shadow::ChunkForm::kGzip;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0, words[8] = {};
    std::size_t word_count = std::size(words);
    const H5Z_filter_t id =
        H5Pget_filter2(dcpl.get(), static_cast<unsigned>(i), &flags, &word_count, words, 0, nullptr, &config);
    const DType& dtype = array.metadata().dtype;
    std::unique_ptr<BytesCodec> filter;
    if (id == H5Z_FILTER_DEFLATE) {
      H5ZARR_ASSIGN_OR_RETURN(filter, MakeFilter("zlib", {{"level", words[0]}}, dtype));
    } else if (id == H5Z_FILTER_SHUFFLE) {
      H5ZARR_ASSIGN_OR_RETURN(filter, MakeFilter("shuffle", {{"elementsize", dtype.item_bytes}}, dtype));
    } else if (id == H5Z_FILTER_FLETCHER32) {
      H5ZARR_ASSIGN_OR_RETURN(filter, MakeFilter("fletcher32", nullptr, dtype));
    } else {
      return UnsupportedError("encoded chunks of a dataset whose filter " + std::to_string(id) +
                              " is stored in another form");
    }
    pipeline.filters.push_back(std::move(filter));
  }
  return pipeline;
}

uint64_t ChunkBytes(const zarr::Array& array) {
  uint64_t bytes = array.elem_bytes();
  for (uint64_t extent : array.unit_shape()) bytes *= extent;  // checked when it was opened
  return bytes;
}

Result<Buffer> Encode(const BytesCodec& filter, ByteSpan decoded) {
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t bound, filter.MaxEncodedBytes(decoded.size()));
  H5ZARR_ASSIGN_OR_RETURN(Buffer encoded, Buffer::Allocate(bound));
  H5ZARR_ASSIGN_OR_RETURN(const uint64_t used, filter.Encode(decoded, encoded.span()));
  encoded.Shrink(used);
  return encoded;
}

}  // namespace

Result<std::optional<uint64_t>> PlainChunkBytes(Object* object, const zarr::Array& array) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, ReportedDcpl(object));
  const int count = H5Pget_nfilters(dcpl.get());
  if (count < 0) return host::AlreadyReported();
  return count == 0 ? std::optional(ChunkBytes(array)) : std::nullopt;
}

Result<Buffer> ToReported(Object* object, zarr::Array& array, Buffer stored) {
  H5ZARR_ASSIGN_OR_RETURN(const Pipeline pipeline, PipelineOf(object, array));
  if (pipeline.verbatim) return stored;
  if (pipeline.gzip) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(ChunkBytes(array)));
    Result<Buffer> zlib = codec::GzipToZlib(stored, decoded.span());
    if (zlib.status().code() != StatusCode::kUnsupported) return zlib;
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer chunk, array.DecodeStoredChunk(stored));
  for (const auto& filter : pipeline.filters) {
    H5ZARR_ASSIGN_OR_RETURN(chunk, Encode(*filter, chunk));
  }
  return chunk;
}

Result<Buffer> FromReported(Object* object, zarr::Array& array, ByteSpan given, uint32_t filter_mask) {
  H5ZARR_ASSIGN_OR_RETURN(const Pipeline pipeline, PipelineOf(object, array));
  if (pipeline.verbatim) {
    if (filter_mask == 0) {
      if (pipeline.unfiltered && given.size() != ChunkBytes(array)) {
        return InvalidArgumentError("a chunk of " + std::to_string(given.size()) + " bytes, expected " +
                                    std::to_string(ChunkBytes(array)) + ": it has no filters");
      }
      return Buffer::CopyOf(given);
    }
    // Zarr has no chunk with filters left out: such a chunk is plain and gets encoded here.
    if (given.size() != ChunkBytes(array)) {
      return UnsupportedError("a chunk with part of its filters left out");
    }
    return array.EncodeStoredChunk(given);
  }
  const uint64_t limit = ChunkBytes(array);
  if (pipeline.gzip && filter_mask == 0) {
    H5ZARR_ASSIGN_OR_RETURN(Buffer decoded, Buffer::Allocate(limit));
    return codec::ZlibToGzip(given, decoded.span());
  }
  H5ZARR_ASSIGN_OR_RETURN(Buffer chunk, Buffer::CopyOf(given));
  for (std::size_t i = pipeline.filters.size(); i-- > 0;) {
    if ((filter_mask >> i) & 1) continue;
    // Checksums stand above the chunk's own size by a few bytes.
    H5ZARR_ASSIGN_OR_RETURN(chunk, pipeline.filters[i]->DecodeUnsized(chunk, limit + 64));
  }
  if (chunk.size_bytes() != limit) {
    return CorruptError("the chunk decodes to " + std::to_string(chunk.size_bytes()) + " bytes, expected " +
                        std::to_string(limit));
  }
  return array.EncodeStoredChunk(chunk);
}

Result<hsize_t> ReportedChunkBytes(Object* object, zarr::Array& array, const zarr::ChunkInfo& chunk) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle dcpl, ReportedDcpl(object));
  if (shadow::StoredChunksAreVerbatim(array.metadata(), dcpl.get())) return chunk.stored_bytes;
  H5ZARR_ASSIGN_OR_RETURN(std::optional<Buffer> stored, array.ReadStoredChunk(chunk.coords));
  if (!stored) return hsize_t{0};
  Result<Buffer> reported = ToReported(object, array, std::move(*stored));
  // Filters that are stored in another form altogether have no size of their own here.
  if (!reported.ok() && reported.status().code() == StatusCode::kUnsupported) {
    return chunk.stored_bytes;
  }
  if (!reported.ok()) return reported.status();
  return reported->size_bytes();
}

}  // namespace h5zarr
