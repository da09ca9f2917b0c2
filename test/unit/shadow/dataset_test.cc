// Creation property lists and spaces → metadata → text → metadata → property lists.
#include <h5zarr/filters.h>

#include <cstring>

#include "unit/shadow/dataset_fixture.h"

namespace h5zarr::shadow {
namespace {

TEST_CASE("pipelines become codecs that every reader has, and are reported as given") {
  struct Case {
    const char* name;
    std::vector<int> filters;
    std::vector<std::string> v3;
    std::vector<std::string> v2;
  };
  const std::vector<Case> cases = {
      {"none", {}, {}, {}},
      {"deflate", {1}, {"gzip"}, {"zlib"}},
      {"shuffle, deflate", {2, 1}, {"blosc"}, {"blosc"}},
      {"shuffle, deflate, fletcher32", {2, 1, 3}, {"blosc", "crc32c"}, {"blosc", "fletcher32"}},
      {"fletcher32", {3}, {"crc32c"}, {"fletcher32"}},
      {"shuffle", {2}, {}, {}},
      {"zstd", {32015}, {"zstd"}, {"zstd"}},
      {"shuffle, zstd", {2, 32015}, {"blosc"}, {"blosc"}},
      {"lzf", {32000}, {"zstd"}, {"zstd"}},
      {"shuffle, lzf", {2, 32000}, {"blosc"}, {"blosc"}},
      {"scaleoffset", {6}, {"zstd"}, {"zstd"}},
      {"nbit", {5}, {"zstd"}, {"zstd"}},
      {"blosc", {32001}, {"blosc"}, {"blosc"}},
      {"bitshuffle", {32008}, {"blosc"}, {"blosc"}},
      {"unknown", {31999}, {"zstd"}, {"zstd"}}};
  for (const Case& c : cases) {
    for (const int zarr_format : {3, 2}) {
      INFO(c.name << " in Zarr v" << zarr_format);
      Config config;
      config.zarr_format = zarr_format;
      const Handle dcpl = Chunked({4, 5});
      for (const int id : c.filters) {
        if (id == 1) H5Pset_deflate(dcpl.get(), 7);
        else if (id == 2) H5Pset_shuffle(dcpl.get());
        else if (id == 3) H5Pset_fletcher32(dcpl.get());
        else if (id == 5) H5Pset_nbit(dcpl.get());
        else if (id == 6) H5Pset_scaleoffset(dcpl.get(), H5Z_SO_INT, 0);
        else {
          const unsigned words[] = {0, 2};
          H5Pset_filter(dcpl.get(), id, H5Z_FLAG_OPTIONAL, id == 32008 ? 2 : 0, words);
        }
      }
      const DatasetPlan plan = Created(H5T_STD_I32LE, Space({8, 10}), dcpl, config);
      std::vector<std::string> names;
      for (const auto& codec : plan.metadata.codecs) names.push_back(codec.name);
      CHECK(names == (zarr_format == 3 ? c.v3 : c.v2));
      const DatasetHeader header = Opened(Stored(plan.metadata));
      const Handle reported = ShadowDcpl(header);
      CHECK(FilterIds(reported.get()) == c.filters);
      CHECK(ChunkOf(reported.get()) == Dims{4, 5});
      if (!c.filters.empty() && c.filters.back() == 1) {
        CHECK(FilterWords(reported.get(), 1) == std::vector<unsigned>{7});
      }
    }
  }
}

TEST_CASE("deflate alone needs no record of the pipeline, with shuffle it does") {
  const Handle deflate = Chunked({4});
  H5Pset_deflate(deflate.get(), 4);
  const Json plain = Created(H5T_STD_I32LE, Space({8}), deflate).metadata.attributes["_hdf5"];
  CHECK(!plain.contains("filters"));
  CHECK(plain.begin().key() == "version");
  const Handle both = Chunked({4});
  H5Pset_shuffle(both.get());
  H5Pset_deflate(both.get(), 4);
  const auto metadata = Created(H5T_STD_I32LE, Space({8}), both).metadata;
  CHECK(metadata.attributes["_hdf5"]["filters"].size() == 2);
  CHECK(metadata.codecs[0].configuration["cname"] == "zlib");
  CHECK(metadata.codecs[0].configuration["clevel"] == 4);
  CHECK(metadata.codecs[0].configuration["shuffle"] == "shuffle");
  CHECK(metadata.codecs[0].configuration["typesize"] == 4);
}

TEST_CASE("a pipeline copied from a dataset is the same pipeline") {
  const Handle dcpl = Chunked({4});
  H5Pset_deflate(dcpl.get(), 4);
  const auto first = Created(H5T_STD_I32LE, Space({8}), dcpl);
  const Handle copied = ShadowDcpl(Opened(Stored(first.metadata)));
  const auto second = Created(H5T_STD_I32LE, Space({8}), copied);
  CHECK(second.metadata.codecs == first.metadata.codecs);
  CHECK(second.metadata.attributes == first.metadata.attributes);
}

TEST_CASE("strict refuses to store a filter in another form") {
  Config config;
  config.strict = true;
  const Handle dcpl = Chunked({4});
  H5Pset_scaleoffset(dcpl.get(), H5Z_SO_INT, 0);
  const auto plan = PlanCreate(H5T_STD_I32LE, Space({8}).get(), dcpl.get(), config);
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::kUnsupported);
  CHECK(plan.status().message().find("filter 6") != std::string::npos);
}

TEST_CASE("a mandatory filter that nobody has is refused") {
  const Handle dcpl = Chunked({4});
  H5Pset_filter(dcpl.get(), 31999, H5Z_FLAG_MANDATORY, 0, nullptr);
  const auto plan = PlanCreate(H5T_STD_I32LE, Space({8}).get(), dcpl.get(), Config());
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::kUnsupported);
}

TEST_CASE("a mandatory zstd needs no zstd plugin") {
  const Handle dcpl = Chunked({4});
  const unsigned level = 9;
  H5Pset_filter(dcpl.get(), H5ZARR_FILTER_ZSTD, H5Z_FLAG_MANDATORY, 1, &level);
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({8}), dcpl);
  CHECK(plan.metadata.codecs[0].configuration["level"] == 9);
  const DatasetHeader header = Opened(Stored(plan.metadata));
  CHECK(FilterWords(ShadowDcpl(header).get(), H5ZARR_FILTER_ZSTD) == std::vector<unsigned>{9});
}

TEST_CASE("filter 480 is a shard, and its words come back") {
  const Handle dcpl = Chunked({8, 6});
  const hsize_t inner[] = {4, 2};
  REQUIRE(H5Pset_shard(dcpl.get(), 2, inner, H5ZARR_SHARD_ZSTD, -5) >= 0);
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({16, 6}), dcpl);
  CHECK(plan.metadata.chunk_shape == std::vector<uint64_t>{8, 6});
  REQUIRE(plan.metadata.codecs.size() == 1);
  CHECK(plan.metadata.codecs[0].name == "sharding_indexed");
  CHECK(!plan.metadata.attributes["_hdf5"].contains("filters"));
  const Json& configuration = plan.metadata.codecs[0].configuration;
  CHECK(configuration["chunk_shape"] == Json::array({4, 2}));
  CHECK(configuration["codecs"][1]["configuration"]["level"] == -5);
  const auto stored = Stored(plan.metadata);
  const Handle reported = ShadowDcpl(Opened(stored));
  CHECK(ChunkOf(reported.get()) == Dims{8, 6});
  CHECK(FilterWords(reported.get(), H5ZARR_FILTER_SHARD) ==
        std::vector<unsigned>{1, 2, 4, 2, H5ZARR_SHARD_CODEC(H5ZARR_SHARD_ZSTD, -5)});
  CHECK(StoredChunksAreVerbatim(stored, reported.get()));
}

TEST_CASE("inner chunks that do not divide are refused") {
  const Handle dcpl = Chunked({8});
  const hsize_t inner[] = {3};
  REQUIRE(H5Pset_shard(dcpl.get(), 1, inner, H5ZARR_SHARD_NONE, 0) >= 0);
  const auto plan = PlanCreate(H5T_STD_I32LE, Space({16}).get(), dcpl.get(), Config());
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("v2 has no shards") {
  const Handle dcpl = Chunked({8});
  const hsize_t inner[] = {4};
  REQUIRE(H5Pset_shard(dcpl.get(), 1, inner, H5ZARR_SHARD_NONE, 0) >= 0);
  const auto plan = PlanCreate(H5T_STD_I32LE, Space({16}).get(), dcpl.get(), V2());
  REQUIRE(!plan.ok());
  CHECK(plan.status().code() == StatusCode::kUnsupported);
}

TEST_CASE("hidden shards report the program's chunk and pipeline") {
  Config config;
  config.shard = Config::Shard::kBytes;
  config.shard_bytes = 1024;
  const Handle dcpl = Chunked({4, 4});
  H5Pset_deflate(dcpl.get(), 3);
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({100, 8}), dcpl, config);
  CHECK(plan.metadata.chunk_shape == std::vector<uint64_t>{32, 8});
  const auto stored = Stored(plan.metadata);
  const DatasetHeader header = Opened(stored);
  const Handle reported = ShadowDcpl(header);
  CHECK(ChunkOf(reported.get()) == Dims{4, 4});
  CHECK(FilterIds(reported.get()) == std::vector<int>{1});
  CHECK(!StoredChunksAreVerbatim(stored, reported.get()));
}

TEST_CASE("a chunk as large as a shard is none") {
  Config config;
  config.shard = Config::Shard::kBytes;
  config.shard_bytes = 100;
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({100}), Chunked({16}), config);
  CHECK(plan.metadata.codecs.empty());
  CHECK(!plan.metadata.attributes["_hdf5"].contains("shard_hidden"));
}

TEST_CASE("variable strings have their codec, whatever the pipeline") {
  const Handle text = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  for (const int zarr_format : {3, 2}) {
    Config config;
    config.zarr_format = zarr_format;
    const Handle dcpl = Chunked({4});
    H5Pset_shuffle(dcpl.get());
    H5Pset_deflate(dcpl.get(), 1);
    const DatasetPlan plan = Created(text.get(), Space({8}), dcpl, config);
    REQUIRE(plan.metadata.codecs.size() == 2);
    CHECK(plan.metadata.codecs[0].name == "vlen-utf8");
    CHECK(plan.metadata.codecs[1].name == (zarr_format == 3 ? "gzip" : "zlib"));
    const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
    CHECK(FilterIds(reported.get()) == std::vector<int>{2, 1});
    CHECK(Created(text.get(), Space({8}), Dcpl(), config).metadata.codecs.size() == 1);
  }
}

TEST_CASE("maximum extents are the program's in every session") {
  const Handle space = Space({4, 5}, {H5S_UNLIMITED, 10});
  const auto metadata = Stored(Created(H5T_STD_I8LE, space, Chunked({2, 5})).metadata);
  for (const bool writable : {false, true}) {
    CHECK(MaxDims(Opened(metadata, writable).space) == Dims{H5S_UNLIMITED, 10});
  }
  const auto fixed = Stored(Created(H5T_STD_I8LE, Space({4}), Chunked({2})).metadata);
  CHECK(MaxDims(Opened(fixed, true).space) == Dims{4});
}

TEST_CASE("foreign arrays are fixed for readers, unlimited for writers") {
  const auto metadata = Foreign({10}, {5});
  CHECK(MaxDims(Opened(metadata, false).space) == Dims{10});
  CHECK(MaxDims(Opened(metadata, true).space) == Dims{H5S_UNLIMITED});
  Config config;
  config.maxshape = Config::MaxShape::kFixed;
  CHECK(MaxDims(Opened(metadata, true, config).space) == Dims{10});
  config.maxshape = Config::MaxShape::kUnlimited;
  CHECK(MaxDims(Opened(metadata, false, config).space) == Dims{H5S_UNLIMITED});
}

TEST_CASE("an array that another program grew beyond its maximum opens") {
  auto metadata = Stored(Created(H5T_STD_I8LE, Space({4}, {6}), Chunked({2})).metadata);
  metadata.shape = {9};
  CHECK(MaxDims(Opened(metadata).space) == Dims{9});
}

TEST_CASE("a chunk larger than a fixed extent is reported with that maximum") {
  const DatasetHeader header = Opened(Foreign({10, 0}, {16, 4}));
  CHECK(MaxDims(header.space) == Dims{16, 0});
  ShadowDcpl(header);
}

TEST_CASE("foreign codecs are reported as filters") {
  const auto ids = [](std::vector<zarr::CodecSpec> codecs) {
    return FilterIds(ShadowDcpl(Opened(Foreign({10}, {5}, std::move(codecs)))).get());
  };
  using Ids = std::vector<int>;
  CHECK(ids({Codec("gzip", R"({"level": 5})")}) == Ids{1});
  CHECK(ids({Codec("numcodecs.zlib", R"({"level": -1})")}) == Ids{1});
  CHECK(ids({Codec("zstd", R"({"level": 0, "checksum": true})")}) == Ids{32015});
  // A filter the process lacks is not reported: HDF5's tools would refuse to read the dataset.
  CHECK(ids({Codec("blosc", R"({"cname": "lz4", "clevel": 5, "shuffle": "shuffle"})")}) == Ids{});
  CHECK(ids({Codec("numcodecs.shuffle", R"({"elementsize": 4})"), Codec("zlib")}) == (Ids{2, 1}));
  CHECK(ids({Codec("crc32c")}) == Ids{});
  CHECK(ids({Codec("numcodecs.lzma")}) == Ids{});
  CHECK(ids({Codec("transpose", R"({"order": [0]})"), Codec("gzip", R"({"level": 5})")}) == Ids{1});
}

TEST_CASE("a foreign shard is a chunk with filter 480") {
  const auto sharding = [](const char* codecs) {
    return Codec("sharding_indexed",
                 (std::string(R"({"chunk_shape": [5], "codecs": [{"name": "bytes", "configuration":)"
                              R"( {"endian": "little"}})") +
                  codecs +
                  R"(], "index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}},)"
                  R"( {"name": "crc32c"}], "index_location": "start"})")
                     .c_str());
  };
  const Handle known =
      ShadowDcpl(Opened(Foreign({20}, {10}, {sharding(R"(,{"name": "gzip", "configuration": {"level": 2}})")})));
  CHECK(FilterWords(known.get(), H5ZARR_FILTER_SHARD) ==
        std::vector<unsigned>{H5ZARR_SHARD_VERSION | H5ZARR_SHARD_INDEX_AT_START, 1, 5,
                              H5ZARR_SHARD_CODEC(H5ZARR_SHARD_GZIP, 2)});
  const auto other = Foreign({20}, {10}, {sharding(R"(,{"name": "numcodecs.lzma"})")});
  const Handle unknown = ShadowDcpl(Opened(other));
  CHECK(FilterIds(unknown.get()).empty());
  CHECK(ChunkOf(unknown.get()) == Dims{10});
  CHECK(!StoredChunksAreVerbatim(other, unknown.get()));
}

TEST_CASE("chunks that HDF5 1.14 cannot describe are reported in parts") {
  const auto plain = Foreign({3, 1 << 20, 1 << 12}, {1, 1 << 20, 1 << 12});
  const DatasetHeader header = Opened(plain);
  const Handle split = ShadowDcpl(header);
  CHECK(ChunkOf(split.get()) == Dims{1, (1 << 18) - 1, 1 << 12});
  CHECK(!StoredChunksAreVerbatim(plain, split.get()));

  const auto sharded = Foreign({1 << 20, 1 << 12}, {1 << 20, 1 << 12},
                               {Codec("sharding_indexed", R"({"chunk_shape": [1024, 1024], "codecs": [{"name": "bytes"},
             {"name": "gzip", "configuration": {"level": 1}}], "index_codecs": []})")});
  const Handle inner = ShadowDcpl(Opened(sharded));
  CHECK(ChunkOf(inner.get()) == Dims{1024, 1024});
  CHECK(FilterIds(inner.get()) == std::vector<int>{1});
}

TEST_CASE("contiguous and compact datasets are slabs, and reported as they were") {
  for (const H5D_layout_t layout : {H5D_CONTIGUOUS, H5D_COMPACT}) {
    Handle dcpl = Dcpl();
    REQUIRE(H5Pset_layout(dcpl.get(), layout) >= 0);
    const DatasetPlan plan = Created(H5T_IEEE_F64LE, Space({20, 30}), dcpl);
    CHECK(plan.metadata.chunk_shape == std::vector<uint64_t>{20, 30});
    const DatasetHeader header = Opened(Stored(plan.metadata), true);
    CHECK(header.layout == layout);
    const Handle reported = ShadowDcpl(header);
    CHECK(H5Pget_layout(reported.get()) == layout);
    const Handle native = NativeDcpl(H5T_IEEE_F64LE, Space({20, 30}), dcpl);
    CHECK(H5Pequal(reported.get(), native.get()) > 0);
    CHECK(MaxDims(header.space) == Dims{20, 30});
  }
}

TEST_CASE("large contiguous datasets are cut along their first axes") {
  const auto slab = [](Dims dims) {
    return Created(H5T_IEEE_F64LE, Space(std::move(dims)), Dcpl()).metadata.chunk_shape;
  };
  CHECK(slab({1000, 1000}) == std::vector<uint64_t>{524, 1000});
  CHECK(slab({10, 1000, 1000}) == std::vector<uint64_t>{1, 524, 1000});
  CHECK(slab({5, 10000000}) == std::vector<uint64_t>{1, 524288});
  CHECK(slab({0, 7}) == std::vector<uint64_t>{1, 7});
}

TEST_CASE("early allocation puts nothing into the shadow and is reported") {
  const Handle dcpl = Chunked({4});
  REQUIRE(H5Pset_alloc_time(dcpl.get(), H5D_ALLOC_TIME_EARLY) >= 0);
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({8}), dcpl);
  H5D_alloc_time_t time = H5D_ALLOC_TIME_ERROR;
  H5Pget_alloc_time(plan.shadow_dcpl.get(), &time);
  CHECK(time == H5D_ALLOC_TIME_INCR);
  const Handle reported = ShadowDcpl(Opened(Stored(plan.metadata)));
  CHECK(H5Pequal(reported.get(), dcpl.get()) > 0);
}

TEST_CASE("what cannot be stored is refused by name") {
  const auto refused = [](const Handle& space, const Handle& dcpl) {
    const auto plan = PlanCreate(H5T_STD_I32LE, space.get(), dcpl.get(), Config());
    REQUIRE(!plan.ok());
    return plan.status();
  };
  Handle compact = Dcpl();
  REQUIRE(H5Pset_layout(compact.get(), H5D_COMPACT) >= 0);
  CHECK(refused(Space({20000}), compact).code() == StatusCode::kInvalidArgument);
  CHECK(refused(Space({8}, {H5S_UNLIMITED}), Dcpl()).code() == StatusCode::kInvalidArgument);
  CHECK(refused(Space({8}), Chunked({2, 2})).code() == StatusCode::kInvalidArgument);
  Handle vds = Dcpl();
  const Handle space = Space({8});
  REQUIRE(H5Pset_virtual(vds.get(), space.get(), "f", "d", space.get()) >= 0);
  CHECK(refused(Space({8}), vds).message().find("virtual") != std::string::npos);
}

TEST_CASE("external files come back, of fixed-size elements only") {
  Handle external = Dcpl();
  REQUIRE(H5Pset_external(external.get(), "raw", 8, 32) >= 0);
  REQUIRE(H5Pset_external(external.get(), "more", 0, H5F_UNLIMITED) >= 0);
  const DatasetPlan plan = Created(H5T_STD_I32LE, Space({8}, {H5S_UNLIMITED}), external);
  CHECK(plan.external);
  CHECK(plan.metadata.attributes["_hdf5"]["external"]["files"] ==
        Json::parse(R"([["raw", 8, 32], ["more", 0, null]])"));
  const DatasetHeader header = Opened(Stored(plan.metadata));
  CHECK(header.external);
  CHECK(!header.external_copied);
  CHECK(H5Pget_external_count(header.shadow_dcpl.get()) == 2);
  hsize_t maximum = 0;
  REQUIRE(H5Sget_simple_extent_dims(header.space.get(), nullptr, &maximum) == 1);
  CHECK(maximum == H5S_UNLIMITED);

  const Handle text(H5Tcopy(H5T_C_S1));
  REQUIRE(H5Tset_size(text.get(), H5T_VARIABLE) >= 0);
  const auto refused = PlanCreate(text.get(), Space({8}).get(), external.get(), Config());
  REQUIRE(!refused.ok());
  CHECK(refused.status().message().find("external") != std::string::npos);
}

TEST_CASE("scalars and null spaces come back") {
  const Handle scalar(H5Screate(H5S_SCALAR));
  const DatasetPlan one = Created(H5T_STD_I32LE, scalar, Dcpl());
  CHECK(one.metadata.shape.empty());
  CHECK(one.metadata.chunk_shape.empty());
  CHECK(H5Sget_simple_extent_type(Opened(Stored(one.metadata)).space.get()) == H5S_SCALAR);
  const Handle null_space(H5Screate(H5S_NULL));
  const DatasetPlan none = Created(H5T_STD_I32LE, null_space, Dcpl());
  CHECK(none.null_space);
  CHECK(none.metadata.shape == std::vector<uint64_t>{0});
  CHECK(none.metadata.chunk_shape == std::vector<uint64_t>{1});
  const DatasetHeader header = Opened(Stored(none.metadata));
  CHECK(header.null_space);
  CHECK(H5Sget_simple_extent_type(header.space.get()) == H5S_NULL);
  ShadowDcpl(header);
}

TEST_CASE("LINDI's scalars are scalars") {
  auto metadata = Foreign({1}, {1});
  metadata.attributes["_SCALAR"] = true;
  const DatasetHeader header = Opened(metadata);
  CHECK(H5Sget_simple_extent_type(header.space.get()) == H5S_SCALAR);
  CHECK(header.element.stored_bytes() == 4);
  ShadowDcpl(header);
}

TEST_CASE("elements of array types have whole chunks of their own dimensions") {
  const hsize_t dims[] = {3};
  const Handle type(H5Tarray_create2(H5T_STD_I16LE, 1, dims));
  const DatasetPlan plan = Created(type.get(), Space({8}), Chunked({4}));
  CHECK(plan.metadata.shape == std::vector<uint64_t>{8, 3});
  CHECK(plan.metadata.chunk_shape == std::vector<uint64_t>{4, 3});
  const DatasetHeader header = Opened(Stored(plan.metadata));
  CHECK(H5Sget_simple_extent_ndims(header.space.get()) == 1);
  CHECK(H5Tequal(header.type.get(), type.get()) > 0);
  CHECK(ChunkOf(ShadowDcpl(header).get()) == Dims{4});
}

TEST_CASE("arrays of references say so as hdmf-zarr does, and are known by it") {
  const DatasetPlan plan = Created(H5T_STD_REF_OBJ, Space({3}), Dcpl());
  CHECK(plan.metadata.attributes["_DTYPE"] == "object_reference");
  auto metadata = Stored(plan.metadata);
  metadata.attributes.erase("_hdf5");
  CHECK(Opened(metadata).element.form == ElementMap::Form::kObjectReference);
  ShadowDcpl(Opened(Stored(plan.metadata)));
}

TEST_CASE("compound=struct writes v3's struct") {
  Config config;
  config.compound_struct = true;
  Handle inner(H5Tcreate(H5T_COMPOUND, 4));
  H5Tinsert(inner.get(), "x", 0, H5T_IEEE_F32LE);
  Handle type(H5Tcreate(H5T_COMPOUND, 8));
  H5Tinsert(type.get(), "a", 0, H5T_STD_I32LE);
  H5Tinsert(type.get(), "n", 4, inner.get());
  const DatasetPlan plan = Created(type.get(), Space({3}), Dcpl(), config);
  const Json document = zarr::ParseJson(zarr::FormatArray(plan.metadata).value().document, "zarr.json").value();
  CHECK(document["data_type"]["name"] == "struct");
  CHECK(document["data_type"]["configuration"]["fields"][1]["data_type"]["name"] == "struct");
  CHECK(document["fill_value"].is_object());
  CHECK(H5Tequal(Opened(Stored(plan.metadata)).type.get(), type.get()) > 0);
}

TEST_CASE("verbatim chunks are those whose bytes both sides agree on") {
  const auto verbatim = [](const zarr::ArrayMetadata& metadata) {
    return StoredChunksAreVerbatim(metadata, ShadowDcpl(Opened(metadata)).get());
  };
  CHECK(verbatim(Foreign({10}, {5})));
  CHECK(verbatim(Foreign({10}, {5}, {Codec("zstd", R"({"level": 1})")})));
  CHECK(verbatim(Foreign({10}, {5},
                         {Codec("numcodecs.shuffle", R"({"elementsize": 4})"),
                          Codec("numcodecs.zlib", R"({"level": 1})"), Codec("numcodecs.fletcher32")})));
  CHECK(!verbatim(Foreign({10}, {5}, {Codec("gzip", R"({"level": 1})")})));
  CHECK(!verbatim(Foreign({10}, {5}, {Codec("crc32c")})));
  Handle padded(H5Tcreate(H5T_COMPOUND, 16));
  H5Tinsert(padded.get(), "a", 4, H5T_STD_I32LE);
  CHECK(!verbatim(Stored(Created(padded.get(), Space({8}), Chunked({4})).metadata)));
}

TEST_CASE("a damaged _hdf5 is corrupt, never something else") {
  const auto code = [](const char* hdf5) {
    auto metadata = Foreign({10}, {5});
    metadata.attributes["_hdf5"] = zarr::ParseJson(hdf5, "_hdf5").value();
    const auto header = PlanOpen(metadata, Config(), false);
    return header.ok() ? StatusCode::kOk : header.status().code();
  };
  CHECK(code(R"({"maxshape": ["x"]})") == StatusCode::kCorrupt);
  CHECK(code(R"({"filters": [{"id": 0}]})") == StatusCode::kCorrupt);
  CHECK(code(R"({"filters": [{"id": 1, "cd_values": [4294967296]}]})") == StatusCode::kCorrupt);
  CHECK(code(R"({"type": "H5T_NOTHING"})") == StatusCode::kCorrupt);
  CHECK(code(R"("text")") == StatusCode::kOk);
  CHECK(code(R"({"version": 1, "of_the_future": 3})") == StatusCode::kOk);
}

TEST_CASE("an _hdf5 that is another array's is left aside") {
  for (const char* hdf5 : {R"({"maxshape": [1, 2], "fill_time": "never"})", R"({"type": "H5T_STD_I64LE"})",
                           R"({"space": "null", "layout": "contiguous"})"}) {
    auto metadata = Foreign({10}, {5});
    const auto plain = PlanOpen(metadata, Config(), false);
    metadata.attributes["_hdf5"] = zarr::ParseJson(hdf5, "_hdf5").value();
    const auto header = PlanOpen(metadata, Config(), false);
    REQUIRE((plain.ok() && header.ok()));
    CHECK(H5Tequal(header->type.get(), plain->type.get()) > 0);
    CHECK(H5Sextent_equal(header->space.get(), plain->space.get()) > 0);
    CHECK(header->layout == plain->layout);
  }
}

}  // namespace
}  // namespace h5zarr::shadow
