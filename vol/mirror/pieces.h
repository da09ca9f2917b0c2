// The elements of a dataset in pieces: boxes of whole chunks, small enough to be in memory at once.
#ifndef H5ZARR_MIRROR_PIECES_H_
#define H5ZARR_MIRROR_PIECES_H_

#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/status.h"
#include "host/handle.h"

namespace h5zarr::mirror {

// Empty vectors: the one element of a scalar.
struct Box {
  std::vector<hsize_t> start;
  std::vector<hsize_t> count;
  uint64_t elems() const;
};

class Pieces {
 public:
  // Pieces of about 16 MiB, but of at least a chunk, or a box of `unit` elements where that is given.
  // `dataset` must outlive it.
  static Result<Pieces> Of(hid_t dataset, const std::vector<uint64_t>& unit = {});

  uint64_t size() const { return boxes_; }
  Box At(uint64_t number) const;
  // The first piece from `number` on of which a chunk is stored, size() where there is none. `number` itself where
  // that cannot be told.
  uint64_t NextStored(uint64_t number) const;
  // Whether both are cut at the same places.
  bool SameAs(const Pieces& other) const { return piece_ == other.piece_ && extent_ == other.extent_; }
  // The chunks of a piece, each a box; the piece itself where there are no chunks.
  std::vector<Box> ChunksOf(const Box& piece) const;

 private:
  Status MarkStored(hid_t dataset);

  bool chunked_ = false;
  std::vector<hsize_t> extent_;
  std::vector<hsize_t> chunk_;  // 1s where there are no chunks
  std::vector<hsize_t> piece_;
  std::vector<uint64_t> grid_;  // pieces along each axis
  uint64_t boxes_ = 0;
  std::optional<std::vector<uint64_t>> stored_;  // numbers of pieces, in order; nothing: not known
};

// The elements of a box, in `type`. Memory of variable length that they lead to goes with them.
class Elements {
 public:
  static Result<Elements> Read(hid_t dataset, const Box& box, hid_t type);
  Elements(Elements&&) = default;
  Elements& operator=(Elements&&) = delete;
  ~Elements();
  const std::byte* data() const { return bytes_.data(); }
  std::byte* mutable_data() { return bytes_.data(); }
  uint64_t count() const { return count_; }
  uint64_t size_bytes() const { return bytes_.size_bytes(); }
  hid_t type() const { return type_; }
  hid_t space() const { return space_.get(); }

 private:
  Elements() = default;
  hid_t type_ = H5I_INVALID_HID;  // borrowed
  Handle space_;
  Buffer bytes_;
  uint64_t count_ = 0;
};

// The file's space with only `box` selected.
Result<Handle> SpaceOf(hid_t dataset, const Box& box);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_PIECES_H_
