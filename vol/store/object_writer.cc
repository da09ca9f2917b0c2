// Writing piece by piece to a store that takes whole objects only.
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "store/store.h"

namespace h5zarr {
namespace {

class GatheringWriter : public ObjectWriter {
 public:
  GatheringWriter(Store* store, std::string_view key) : store_(store), key_(key) {}

  Status Append(ByteSpan bytes) override {
    H5ZARR_ASSIGN_OR_RETURN(Buffer piece, Buffer::CopyOf(bytes));
    total_bytes_ += bytes.size();
    pieces_.push_back(std::move(piece));
    return OkStatus();
  }

  Status Commit() override {
    if (pieces_.size() == 1) return store_->Write(key_, pieces_[0].span());
    H5ZARR_ASSIGN_OR_RETURN(Buffer whole, Buffer::Allocate(total_bytes_));
    uint64_t offset = 0;
    for (Buffer& piece : pieces_) {
      if (!piece.empty()) std::memcpy(whole.data() + offset, piece.data(), piece.size_bytes());
      offset += piece.size_bytes();
      piece = Buffer();
    }
    return store_->Write(key_, whole.span());
  }

 private:
  Store* const store_;
  const std::string key_;
  std::vector<Buffer> pieces_;
  uint64_t total_bytes_ = 0;
};

}  // namespace

Result<std::unique_ptr<ObjectWriter>> Store::BeginWrite(std::string_view key) {
  H5ZARR_RETURN_IF_ERROR(CheckKey(key));
  return std::unique_ptr<ObjectWriter>(std::make_unique<GatheringWriter>(this, key));
}

}  // namespace h5zarr
