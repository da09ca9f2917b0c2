#include "codec/lzma_filters.h"

#include <string>

#include "codec/codec_config.h"

namespace h5zarr::codec {
namespace {

constexpr std::string_view kName = "lzma filter";

bool IsLzma(lzma_vli id) { return id == LZMA_FILTER_LZMA1 || id == LZMA_FILTER_LZMA2; }

bool IsBranch(lzma_vli id) {
  return id == LZMA_FILTER_X86 || id == LZMA_FILTER_POWERPC || id == LZMA_FILTER_IA64 || id == LZMA_FILTER_ARM ||
         id == LZMA_FILTER_ARMTHUMB || id == LZMA_FILTER_SPARC;
}

uint32_t Uint32(ConfigReader& config, std::string_view member, uint32_t fallback) {
  return static_cast<uint32_t>(config.Int(member, fallback, 0, UINT32_MAX));
}

}  // namespace

Status LzmaFilters::FromPreset(uint32_t preset) {
  if (lzma_lzma_preset(&lzma_[0], preset)) {
    return InvalidArgumentError("codec lzma: \"preset\" " + std::to_string(preset) + " is unknown to liblzma");
  }
  ids_[0] = LZMA_FILTER_LZMA2;
  count_ = 1;
  return OkStatus();
}

Status LzmaFilters::Parse(const Json& list) {
  if (!list.is_array() || list.empty() || list.size() > LZMA_FILTERS_MAX) {
    return InvalidArgumentError("codec lzma: \"filters\" must be a list of 1 to 4 objects");
  }
  for (const Json& object : list) H5ZARR_RETURN_IF_ERROR(Add(object));
  return OkStatus();
}

Status LzmaFilters::Add(const Json& object) {
  ConfigReader config(kName, object);
  config.Require("id");
  const auto id = static_cast<lzma_vli>(config.Int("id", 0, 0, INT64_MAX));
  if (IsLzma(id)) {
    H5ZARR_RETURN_IF_ERROR(AddLzma(object, &lzma_[count_]));
  } else if (id == LZMA_FILTER_DELTA) {
    delta_[count_].type = LZMA_DELTA_TYPE_BYTE;
    delta_[count_].dist =
        static_cast<uint32_t>(config.Int("dist", LZMA_DELTA_DIST_MIN, LZMA_DELTA_DIST_MIN, LZMA_DELTA_DIST_MAX));
    H5ZARR_RETURN_IF_ERROR(config.Finish());
  } else if (IsBranch(id)) {
    branch_[count_].start_offset = Uint32(config, "start_offset", 0);
    H5ZARR_RETURN_IF_ERROR(config.Finish());
  } else {
    config.Fail("id", "a filter that Python's lzma module knows");
    return config.Finish();
  }
  ids_[count_++] = id;
  return OkStatus();
}

Status LzmaFilters::AddLzma(const Json& object, lzma_options_lzma* options) {
  ConfigReader config(kName, object);
  const uint32_t preset = Uint32(config, "preset", LZMA_PRESET_DEFAULT);
  if (lzma_lzma_preset(options, preset)) config.Fail("preset", "a preset of liblzma");
  options->dict_size = Uint32(config, "dict_size", options->dict_size);
  options->lc = Uint32(config, "lc", options->lc);
  options->lp = Uint32(config, "lp", options->lp);
  options->pb = Uint32(config, "pb", options->pb);
  options->nice_len = Uint32(config, "nice_len", options->nice_len);
  options->depth = Uint32(config, "depth", options->depth);
  options->mode = static_cast<lzma_mode>(config.Int("mode", options->mode, 1, 2));
  options->mf = static_cast<lzma_match_finder>(config.Int("mf", options->mf, 0, 255));
  return config.Finish();
}

void LzmaFilters::Bind(Chain* chain) const {
  chain->lzma = lzma_;
  chain->delta = delta_;
  chain->branch = branch_;
  for (std::size_t i = 0; i < count_; ++i) {
    void* options = IsLzma(ids_[i])                ? static_cast<void*>(&chain->lzma[i])
                    : ids_[i] == LZMA_FILTER_DELTA ? static_cast<void*>(&chain->delta[i])
                                                   : static_cast<void*>(&chain->branch[i]);
    chain->filters[i] = {ids_[i], options};
  }
  chain->filters[count_] = {LZMA_VLI_UNKNOWN, nullptr};
}

const lzma_options_lzma* LzmaFilters::Lzma1() const {
  return count_ == 1 && ids_[0] == LZMA_FILTER_LZMA1 ? &lzma_[0] : nullptr;
}

}  // namespace h5zarr::codec
