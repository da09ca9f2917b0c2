// NumberCodec: the base of array codecs that turn each number into one other number (delta,
// fixedscaleoffset, quantize, astype). Private to filters/codec.
#ifndef H5ZARR_CODEC_NUMBER_CODEC_H_
#define H5ZARR_CODEC_NUMBER_CODEC_H_

#include "codec/codec.h"
#include "codec/codec_errors.h"
#include "codec/numeric.h"

namespace h5zarr::codec {

class NumberCodec : public ArrayCodec {
 public:
  NumberCodec(const ChunkSpec& decoded, const NumberTypes& types)
      : types_(types), decoded_(decoded), encoded_{types.encoded_dtype, decoded.shape} {}
  const ChunkSpec& decoded_spec() const final { return decoded_; }
  const ChunkSpec& encoded_spec() const final { return encoded_; }

 protected:
  // Calls `step(from, to, elems)` with blocks of the source's numbers, in order; what it leaves in
  // `to` is stored.
  template <typename Step>
  static void ForEachBlock(const NumberType& from_type, ByteSpan from, const NumberType& to_type, MutableByteSpan to,
                           Step&& step) {
    Block source;
    Block target;
    const uint64_t elems = from.size() / from_type.item_bytes;
    for (uint64_t done = 0; done < elems;) {
      const std::size_t count = elems - done < kBlockElems ? static_cast<std::size_t>(elems - done) : kBlockElems;
      LoadBlock(from_type, from.data() + done * from_type.item_bytes, count, &source);
      step(source, &target, count);
      StoreBlock(to_type, target, count, to.data() + done * to_type.item_bytes);
      done += count;
    }
  }

  // Stores each number of `from` as one of the other type, by the rules of ConvertBlock.
  static void Convert(const NumberType& from_type, ByteSpan from, const NumberType& to_type, MutableByteSpan to) {
    ForEachBlock(from_type, from, to_type, to, [&](const Block& source, Block* target, std::size_t elems) {
      ConvertBlock(from_type.kind, source, to_type.kind, elems, target);
    });
  }

  const NumberTypes types_;

 private:
  const ChunkSpec decoded_;
  const ChunkSpec encoded_;
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_NUMBER_CODEC_H_
