// Filter chains of liblzma as Python's lzma module spells them in JSON. Private to filters/codec.
#ifndef H5ZARR_CODEC_LZMA_FILTERS_H_
#define H5ZARR_CODEC_LZMA_FILTERS_H_

#include <lzma.h>

#include <array>
#include <cstdint>

#include "base/status.h"
#include "codec/registry.h"

namespace h5zarr::codec {

// A chain with its options, in storage of its own (so not to be copied once bound).
class LzmaFilters {
 public:
  LzmaFilters() = default;
  // From a list of objects with "id" and that filter's options: LZMA1, LZMA2, delta and the branch
  // converters. kInvalidArgument says what is wrong.
  Status Parse(const Json& list);
  // LZMA2 alone, from `preset`. kInvalidArgument when the library knows no such preset.
  Status FromPreset(uint32_t preset);
  // The chain as liblzma takes it: pointers into `chain`, which must outlive their use.
  struct Chain {
    std::array<lzma_options_lzma, LZMA_FILTERS_MAX> lzma;
    std::array<lzma_options_delta, LZMA_FILTERS_MAX> delta;
    std::array<lzma_options_bcj, LZMA_FILTERS_MAX> branch;
    std::array<lzma_filter, LZMA_FILTERS_MAX + 1> filters;
  };
  void Bind(Chain* chain) const;
  // The options of the first filter, for the format that has LZMA1 only; null for any other chain.
  const lzma_options_lzma* Lzma1() const;

 private:
  Status Add(const Json& object);
  Status AddLzma(const Json& object, lzma_options_lzma* options);

  std::size_t count_ = 0;
  std::array<lzma_vli, LZMA_FILTERS_MAX> ids_{};
  std::array<lzma_options_lzma, LZMA_FILTERS_MAX> lzma_{};
  std::array<lzma_options_delta, LZMA_FILTERS_MAX> delta_{};
  std::array<lzma_options_bcj, LZMA_FILTERS_MAX> branch_{};
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_LZMA_FILTERS_H_
