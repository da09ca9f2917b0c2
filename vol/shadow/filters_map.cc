#include "shadow/filters_map.h"

#include <h5zarr/filters.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "filter/shard_words.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "zarr/codec_specs.h"

namespace h5zarr::shadow {
namespace {

using filter::Sharding;
using filter::ShardingFromCodec;
using filter::ShardingFromWords;
using filter::ShardingToCodec;
using filter::UserWords;
using filter::WordsFromSharding;
using zarr::ArrayToBytesSpec;
using zarr::BareName;
using zarr::BloscLevelOfZstd;
using zarr::BloscOptions;
using zarr::BloscShuffle;
using zarr::BloscSpec;
using zarr::ChecksumSpec;
using zarr::CodecSpec;
using zarr::DeflateSpec;
using zarr::kDefaultZstdLevel;
using zarr::LevelOf;
using zarr::ParseBlosc;
using zarr::WithShuffle;
using zarr::ZstdSpec;

// Registered filter numbers of The HDF Group.
constexpr int kBlosc = 32001;
constexpr int kLz4 = 32004;
constexpr int kBitshuffle = 32008;
constexpr int kZstd = H5ZARR_FILTER_ZSTD;
constexpr int kShard = H5ZARR_FILTER_SHARD;

constexpr std::size_t kMaxFilters = 32;    // H5Z_MAX_NFILTERS
constexpr std::size_t kMaxCdValues = 256;  // what H5Pget_filter gives
constexpr std::string_view kBloscNames[] = {"blosclz", "lz4", "lz4hc", "snappy", "zlib", "zstd"};

unsigned WordOr(const std::vector<unsigned>& words, std::size_t index, unsigned otherwise) {
  return index < words.size() ? words[index] : otherwise;
}

// Filters whose effect codecs have without this process having the filter.
bool HasOwnCodec(int id) {
  return id == H5Z_FILTER_DEFLATE || id == H5Z_FILTER_SHUFFLE || id == H5Z_FILTER_FLETCHER32 || id == kZstd ||
         id == kBlosc || id == kBitshuffle || id == kShard;
}

// Builds a chain filter by filter. HDF5's shuffle joins the compressor behind it (as blosc, which
// every reader has; none has a shuffle of its own).
class ChainBuilder {
 public:
  explicit ChainBuilder(const PipelineTarget& target) : target_(target) {}

  Status Add(const Filter& filter);
  Result<std::vector<CodecSpec>> Finish();

 private:
  const DType& dtype() const { return *target_.dtype; }
  int format() const { return target_.zarr_format; }
  bool TakeShuffle() { return std::exchange(shuffled_, false) && !dtype().is_vlen(); }
  void AddBlosc(BloscOptions options) { chain_.push_back(BloscSpec(options, dtype(), format())); }
  void AddZstd(int64_t level) {
    if (TakeShuffle()) AddBlosc({"zstd", BloscLevelOfZstd(level), BloscShuffle::kByte});
    else chain_.push_back(ZstdSpec(level, format()));
  }
  void AddDeflate(int64_t level) {
    if (TakeShuffle()) AddBlosc({"zlib", level, BloscShuffle::kByte});
    else chain_.push_back(DeflateSpec(level, format()));
  }
  void AddUserBlosc(const std::vector<unsigned>& words);
  void AddBitshuffle(const std::vector<unsigned>& words);
  Status AddShard(const Filter& filter);
  Status AddOther(const Filter& filter);

  const PipelineTarget& target_;
  std::vector<CodecSpec> chain_;
  bool shuffled_ = false;
  bool checksum_ = false;
  std::optional<Sharding> sharding_;
};

Status ChainBuilder::Add(const Filter& filter) {
  switch (filter.id) {
    case H5Z_FILTER_SHUFFLE: shuffled_ = true; break;
    case H5Z_FILTER_FLETCHER32: checksum_ = true; break;
    case H5Z_FILTER_DEFLATE: AddDeflate(std::min(WordOr(filter.cd_values, 0, 6), 9u)); break;
    case kZstd: {
      const auto level = static_cast<int32_t>(WordOr(filter.cd_values, 0, kDefaultZstdLevel));
      AddZstd(std::clamp(level, -131072, 22));
      break;
    }
    case kBlosc: AddUserBlosc(filter.cd_values); break;
    case kBitshuffle: AddBitshuffle(filter.cd_values); break;
    case kShard: return AddShard(filter);
    default: return AddOther(filter);
  }
  return OkStatus();
}

void ChainBuilder::AddUserBlosc(const std::vector<unsigned>& words) {
  const unsigned compressor = WordOr(words, 6, 0);
  BloscOptions options;
  options.cname = compressor < std::size(kBloscNames) ? kBloscNames[compressor] : "blosclz";
  if (options.cname == "snappy") options.cname = "lz4";  // few builds of blosc still have snappy
  options.clevel = std::min(WordOr(words, 4, 5), 9u);
  options.shuffle = static_cast<BloscShuffle>(std::min(WordOr(words, 5, 1), 2u));
  if (TakeShuffle() && options.shuffle == BloscShuffle::kNone) options.shuffle = BloscShuffle::kByte;
  AddBlosc(std::move(options));
}

// The words are (block size, compressor, level); set_local puts three before them.
void ChainBuilder::AddBitshuffle(const std::vector<unsigned>& words) {
  shuffled_ = false;
  const std::size_t first = words.size() >= 4 ? 3 : 0;
  switch (WordOr(words, first + 1, 0)) {
    case 2: AddBlosc({"lz4", 5, BloscShuffle::kBit}); break;
    case 3:
      AddBlosc({"zstd", BloscLevelOfZstd(static_cast<int32_t>(WordOr(words, first + 2, 3))), BloscShuffle::kBit});
      break;
    default: break;  // it only moves bits
  }
}

Status ChainBuilder::AddShard(const Filter& filter) {
  if (format() == 2) {
    return UnsupportedError("filter 480: Zarr v2 has no shards; use zarr_format=3");
  }
  if (sharding_ || !chain_.empty()) {
    return InvalidArgumentError("filter 480: no compressor may stand before it; inner codecs are words of its own");
  }
  H5ZARR_ASSIGN_OR_RETURN(sharding_, ShardingFromWords(filter.cd_values, dtype(), target_.chunk_shape));
  // A program's shuffle before it is meant for its inner chunks.
  if (!TakeShuffle() || sharding_->inner_codecs.empty()) return OkStatus();
  CodecSpec& codec = sharding_->inner_codecs.front();
  codec = WithShuffle(std::move(codec), dtype());
  return OkStatus();
}

// Filters that Zarr's readers lack, that lose something, or that nobody knows: what they do to the
// bytes is not stored, but the elements are.
Status ChainBuilder::AddOther(const Filter& filter) {
  const std::string name = "filter " + std::to_string(filter.id);
  if (target_.strict) {
    return UnsupportedError(name + " has no form in Zarr, and strict=1 allows no other");
  }
  if (sharding_) return InvalidArgumentError(name + " cannot follow filter 480");
  const bool mandatory = (filter.flags & H5Z_FLAG_OPTIONAL) == 0;
  if (mandatory && H5Zfilter_avail(filter.id) <= 0) {
    return UnsupportedError("required " + name + " is not registered");
  }
  if (filter.id == kLz4) {
    AddBlosc({"lz4", 5, TakeShuffle() ? BloscShuffle::kByte : BloscShuffle::kNone});
  } else {
    AddZstd(kDefaultZstdLevel);
  }
  return OkStatus();
}

Result<std::vector<CodecSpec>> ChainBuilder::Finish() {
  // A shuffle without a compressor changes no size: the bytes are stored as they are.
  if (!sharding_) {
    std::vector<CodecSpec> codecs = PlainCodecs(dtype());
    codecs.insert(codecs.end(), chain_.begin(), chain_.end());
    if (checksum_) codecs.push_back(ChecksumSpec(format()));
    return codecs;
  }
  if (!chain_.empty()) return InvalidArgumentError("filter 480: no compressor may follow it");
  // Inside, or a part of a shard could not be read without all of it.
  if (checksum_) sharding_->inner_codecs.push_back(ChecksumSpec(format()));
  sharding_->inner_shape.insert(sharding_->inner_shape.end(), target_.elem_dims.begin(), target_.elem_dims.end());
  return std::vector<CodecSpec>{ShardingToCodec(*sharding_, ArrayToBytesSpec(dtype()))};
}

Filter OptionalFilter(int id, std::vector<unsigned> cd_values) { return {id, H5Z_FLAG_OPTIONAL, std::move(cd_values)}; }

std::optional<Filter> FilterForCodec(const CodecSpec& codec, std::size_t rank) {
  const std::string_view name = BareName(codec);
  if (name == "gzip" || name == "zlib") {
    return OptionalFilter(H5Z_FILTER_DEFLATE, {static_cast<unsigned>(zarr::DeflateLevelOf(codec))});
  }
  if (name == "zstd") {
    const int64_t level = std::clamp<int64_t>(LevelOf(codec, "level", kDefaultZstdLevel), -131072, 22);
    return OptionalFilter(kZstd, {static_cast<unsigned>(level)});
  }
  if (name == "shuffle") return OptionalFilter(H5Z_FILTER_SHUFFLE, {});
  if (name == "fletcher32") return Filter{H5Z_FILTER_FLETCHER32, H5Z_FLAG_MANDATORY, {}};
  if (name == "blosc") {
    const std::optional<BloscOptions> options = ParseBlosc(codec, DType::Uint(1));
    if (!options) return std::nullopt;
    const auto found = std::find(std::begin(kBloscNames), std::end(kBloscNames), options->cname);
    if (found == std::end(kBloscNames)) return std::nullopt;
    return OptionalFilter(kBlosc,
                          {0, 0, 0, 0, static_cast<unsigned>(options->clevel), static_cast<unsigned>(options->shuffle),
                           static_cast<unsigned>(found - std::begin(kBloscNames))});
  }
  if (name == "sharding_indexed") {
    const std::optional<Sharding> sharding = ShardingFromCodec(codec);
    if (!sharding) return std::nullopt;
    std::optional<std::vector<unsigned>> words = WordsFromSharding(*sharding, rank);
    if (!words) return std::nullopt;
    return Filter{kShard, H5Z_FLAG_MANDATORY, std::move(*words)};
  }
  return std::nullopt;
}

// A filter without what set_local or the filter itself adds to a user's words.
Filter Normalized(const Filter& filter) {
  Filter normal = filter;
  normal.flags &= H5Z_FLAG_OPTIONAL;
  switch (filter.id) {
    case H5Z_FILTER_SHUFFLE:
    case H5Z_FILTER_FLETCHER32: normal.cd_values.clear(); break;
    case H5Z_FILTER_DEFLATE:
    case kZstd:
      if (normal.cd_values.size() > 1) normal.cd_values.resize(1);
      break;
    case kBlosc:
      normal.cd_values = {
          0, 0, 0, 0, WordOr(filter.cd_values, 4, 5), WordOr(filter.cd_values, 5, 1), WordOr(filter.cd_values, 6, 0)};
      break;
    case kShard: normal.cd_values = UserWords(filter.cd_values); break;
    default: break;
  }
  return normal;
}

}  // namespace

Result<std::vector<Filter>> FiltersOfDcpl(hid_t dcpl) {
  const int count = H5Pget_nfilters(dcpl);
  if (count < 0) return Hdf5Failure("the filters of a property list");
  std::vector<Filter> filters;
  for (int i = 0; i < count; ++i) {
    Filter filter;
    filter.cd_values.resize(kMaxCdValues);
    std::size_t cd_count = kMaxCdValues;
    filter.id = static_cast<int>(H5Pget_filter2(dcpl, static_cast<unsigned>(i), &filter.flags, &cd_count,
                                                filter.cd_values.data(), 0, nullptr, nullptr));
    if (filter.id < 0) return Hdf5Failure("a filter of a property list");
    if (cd_count > kMaxCdValues) {
      return UnsupportedError("filter " + std::to_string(filter.id) + " with " + std::to_string(cd_count) +
                              " parameters; at most 256 can be kept");
    }
    filter.cd_values.resize(cd_count);
    filters.push_back(std::move(filter));
  }
  return filters;
}

Result<std::vector<CodecSpec>> CodecsForFilters(std::span<const Filter> filters, const PipelineTarget& target) {
  ChainBuilder builder(target);
  for (const Filter& filter : filters) H5ZARR_RETURN_IF_ERROR(builder.Add(filter));
  return builder.Finish();
}

std::vector<CodecSpec> PlainCodecs(const DType& dtype) {
  if (!dtype.is_vlen()) return {};
  return {ArrayToBytesSpec(dtype)};
}

bool IsShardFilter(int filter_id) { return filter_id == kShard; }
bool BroughtByPlugin(int filter_id) { return filter_id == kShard || filter_id == kZstd; }

std::vector<Filter> FiltersForCodecs(std::span<const CodecSpec> codecs, std::size_t rank) {
  std::vector<Filter> filters;
  for (const CodecSpec& codec : codecs) {
    // Filter 480 is all that is done to a chunk, or it says too little: see PlanOpen.
    if (codec.name == "sharding_indexed" && codecs.size() > 1) return {};
    std::optional<Filter> filter = FilterForCodec(codec, rank);
    if (filter && filters.size() < kMaxFilters) filters.push_back(std::move(*filter));
  }
  return filters;
}

bool SamePipeline(std::span<const Filter> a, std::span<const Filter> b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Filter& x, const Filter& y) {
    const Filter left = Normalized(x);
    const Filter right = Normalized(y);
    return left.id == right.id && left.flags == right.flags && left.cd_values == right.cd_values;
  });
}

Status AppendFilters(hid_t dcpl, std::span<const Filter> filters) {
  for (const Filter& filter : filters) {
    unsigned flags = filter.flags & H5Z_FLAG_OPTIONAL;
    if (flags == 0 && H5Zfilter_avail(filter.id) <= 0) flags = H5Z_FLAG_OPTIONAL;
    if (H5Pset_filter(dcpl, filter.id, flags, filter.cd_values.size(), filter.cd_values.data()) < 0) {
      return Hdf5Failure("filter " + std::to_string(filter.id));
    }
  }
  return OkStatus();
}

Status RelaxFilters(hid_t dcpl, std::span<const Filter> filters) {
  for (const Filter& filter : filters) {
    if ((filter.flags & H5Z_FLAG_OPTIONAL) != 0 || !HasOwnCodec(filter.id) || H5Zfilter_avail(filter.id) > 0) {
      continue;
    }
    if (H5Pmodify_filter(dcpl, filter.id, filter.flags | H5Z_FLAG_OPTIONAL, filter.cd_values.size(),
                         filter.cd_values.data()) < 0) {
      return Hdf5Failure("filter " + std::to_string(filter.id));
    }
  }
  return OkStatus();
}

Json FiltersToJson(std::span<const Filter> filters) {
  Json list = Json::array();
  for (const Filter& filter : filters) {
    const Filter normal = Normalized(filter);
    Json item = Json::object();
    item["id"] = normal.id;
    item["flags"] = filter.flags & H5Z_FLAG_OPTIONAL;
    item["cd_values"] = normal.cd_values;
    list.push_back(std::move(item));
  }
  return list;
}

Result<std::vector<Filter>> FiltersFromJson(const Json& json) {
  const auto bad = [&](std::string_view expected) {
    return CorruptError("_hdf5.filters " + zarr::BriefJson(json) + ": expected " + std::string(expected));
  };
  if (!json.is_array() || json.size() > kMaxFilters) return bad("a list of at most 32 filters");
  std::vector<Filter> filters;
  for (const Json& item : json) {
    const std::optional<uint64_t> id = UnsignedMember(item, "id");
    if (!id || *id == 0 || *id > H5Z_FILTER_MAX) return bad("filter identifiers");
    Filter filter{static_cast<int>(*id), H5Z_FLAG_OPTIONAL, {}};
    filter.flags = static_cast<unsigned>(UnsignedMember(item, "flags").value_or(0)) & H5Z_FLAG_OPTIONAL;
    const Json* words = zarr::FindMember(item, "cd_values");
    if (words != nullptr && (!words->is_array() || words->size() > kMaxCdValues)) {
      return bad("at most 256 cd_values");
    }
    for (std::size_t i = 0; words != nullptr && i < words->size(); ++i) {
      const std::optional<uint64_t> word = AsUnsigned((*words)[i]);
      if (!word || *word > UINT32_MAX) return bad("cd_values of 32 bits");
      filter.cd_values.push_back(static_cast<unsigned>(*word));
    }
    filters.push_back(std::move(filter));
  }
  return filters;
}

Result<std::vector<Filter>> RecordedFilters(const Json& attributes) {
  const Json* hdf5 = zarr::FindMember(attributes, "_hdf5");
  const Json* recorded = hdf5 != nullptr ? zarr::FindMember(*hdf5, "filters") : nullptr;
  return recorded != nullptr ? FiltersFromJson(*recorded) : std::vector<Filter>();
}

bool SameBytes(std::span<const CodecSpec> codecs, std::span<const Filter> filters) {
  const auto same = [](const CodecSpec& codec, const Filter& filter) {
    const std::string_view name = BareName(codec);
    switch (filter.id) {
      case H5Z_FILTER_DEFLATE: return name == "zlib";
      case H5Z_FILTER_SHUFFLE: return name == "shuffle";
      case H5Z_FILTER_FLETCHER32: return name == "fletcher32";
      case kZstd: return name == "zstd";
      case kBlosc: return name == "blosc";
      case kShard: return name == "sharding_indexed";
      default: return false;
    }
  };
  return std::equal(codecs.begin(), codecs.end(), filters.begin(), filters.end(), same);
}

}  // namespace h5zarr::shadow
