// What tests of datasets share: lists and spaces to create with, and what another session finds.
#ifndef H5ZARR_TEST_UNIT_SHADOW_DATASET_FIXTURE_H_
#define H5ZARR_TEST_UNIT_SHADOW_DATASET_FIXTURE_H_

#include <utility>
#include <vector>

#include "catch.h"
#include "shadow/dataset_map.h"
#include "shadow/h5_types.h"

namespace h5zarr::shadow {

using Dims = std::vector<hsize_t>;

inline Handle Space(Dims dims, Dims maxdims = {}) {
  if (maxdims.empty()) maxdims = dims;
  return Handle(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), maxdims.data()));
}

inline Handle Dcpl() { return Handle(H5Pcreate(H5P_DATASET_CREATE)); }

inline Handle Chunked(Dims chunk) {
  Handle dcpl = Dcpl();
  REQUIRE(H5Pset_chunk(dcpl.get(), static_cast<int>(chunk.size()), chunk.data()) >= 0);
  return dcpl;
}

inline Config V2() {
  Config config;
  config.zarr_format = 2;
  return config;
}

inline DatasetPlan Created(hid_t type, const Handle& space, const Handle& dcpl, const Config& config = {}) {
  Result<DatasetPlan> plan = PlanCreate(type, space.get(), dcpl.get(), config);
  INFO(plan.status().message());
  REQUIRE(plan.ok());
  return std::move(plan).value();
}

// As another session finds it.
inline zarr::ArrayMetadata Stored(const zarr::ArrayMetadata& metadata) {
  const auto texts = zarr::FormatArray(metadata);
  INFO(texts.status().message());
  REQUIRE(texts.ok());
  INFO(texts.value().document);
  auto parsed = metadata.zarr_format == 3
                    ? zarr::ParseArrayV3(texts.value().document, "zarr.json")
                    : zarr::ParseArrayV2(texts.value().document, texts.value().attributes, ".zarray");
  INFO(parsed.status().message());
  REQUIRE(parsed.ok());
  return std::move(parsed).value();
}

inline DatasetHeader Opened(const zarr::ArrayMetadata& metadata, bool writable = false, const Config& config = {}) {
  Result<DatasetHeader> header = PlanOpen(metadata, config, writable);
  INFO(header.status().message());
  REQUIRE(header.ok());
  return std::move(header).value();
}

// HDF5 accepts the header in a file that is never written, and answers this list for it.
inline Handle ShadowDcpl(const DatasetHeader& header) {
  const Handle fapl(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_fapl_core(fapl.get(), 1 << 16, false) >= 0);
  const Handle file(H5Fcreate("shadow", H5F_ACC_TRUNC, H5P_DEFAULT, fapl.get()));
  const Handle dataset(H5Dcreate2(file.get(), "d", header.type.get(), header.space.get(), H5P_DEFAULT,
                                  header.shadow_dcpl.get(), H5P_DEFAULT));
  REQUIRE(dataset.valid());
  CHECK(H5Dget_storage_size(dataset.get()) == 0);
  const Handle reported(H5Dget_create_plist(dataset.get()));
  Result<Handle> restored = RestoreDcpl(reported.get(), header.layout, header.alloc_time);
  REQUIRE(restored.ok());
  return std::move(restored).value();
}

// What HDF5 itself answers for a dataset of this list.
inline Handle NativeDcpl(hid_t type, const Handle& space, const Handle& dcpl) {
  const Handle fapl(H5Pcreate(H5P_FILE_ACCESS));
  REQUIRE(H5Pset_fapl_core(fapl.get(), 1 << 16, false) >= 0);
  const Handle file(H5Fcreate("native", H5F_ACC_TRUNC, H5P_DEFAULT, fapl.get()));
  const Handle dataset(H5Dcreate2(file.get(), "d", type, space.get(), H5P_DEFAULT, dcpl.get(), H5P_DEFAULT));
  REQUIRE(dataset.valid());
  return Handle(H5Dget_create_plist(dataset.get()));
}

inline Dims ChunkOf(hid_t dcpl) {
  Dims chunk(H5S_MAX_RANK);
  const int rank = H5Pget_chunk(dcpl, H5S_MAX_RANK, chunk.data());
  REQUIRE(rank >= 0);
  chunk.resize(static_cast<std::size_t>(rank));
  return chunk;
}

inline std::vector<int> FilterIds(hid_t dcpl) {
  std::vector<int> ids;
  for (int i = 0; i < H5Pget_nfilters(dcpl); ++i) {
    unsigned flags = 0;
    std::size_t count = 0;
    ids.push_back(H5Pget_filter2(dcpl, static_cast<unsigned>(i), &flags, &count, nullptr, 0, nullptr, nullptr));
  }
  return ids;
}

inline std::vector<unsigned> FilterWords(hid_t dcpl, int id) {
  unsigned flags = 0;
  std::vector<unsigned> words(64);
  std::size_t count = words.size();
  REQUIRE(H5Pget_filter_by_id2(dcpl, id, &flags, &count, words.data(), 0, nullptr, nullptr) >= 0);
  words.resize(count);
  return words;
}

inline Dims MaxDims(const Handle& space) {
  Dims maxdims(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space.get())));
  H5Sget_simple_extent_dims(space.get(), nullptr, maxdims.data());
  return maxdims;
}

// A foreign array: no `_hdf5`.
inline zarr::ArrayMetadata Foreign(std::vector<uint64_t> shape, std::vector<uint64_t> chunk,
                                   std::vector<zarr::CodecSpec> codecs = {}) {
  zarr::ArrayMetadata metadata;
  metadata.shape = std::move(shape);
  metadata.chunk_shape = std::move(chunk);
  metadata.dtype = DType::Float(4);
  metadata.fill = {true, std::vector<std::byte>(4)};
  metadata.codecs = std::move(codecs);
  return metadata;
}

inline zarr::CodecSpec Codec(const char* name, const char* configuration = "null") {
  return {name, zarr::ParseJson(configuration, "codec").value()};
}

}  // namespace h5zarr::shadow

#endif  // H5ZARR_TEST_UNIT_SHADOW_DATASET_FIXTURE_H_
