// ReadOnlyStore: what a store that can only be read answers to all that would change it.
#ifndef H5ZARR_STORE_READ_ONLY_STORE_H_
#define H5ZARR_STORE_READ_ONLY_STORE_H_

#include <memory>
#include <string_view>

#include "store/store.h"

namespace h5zarr {

class ReadOnlyStore : public Store {
 public:
  bool read_only() const final { return true; }
  Status Write(std::string_view, ByteSpan) final { return Refusal(); }
  Result<std::unique_ptr<ObjectWriter>> BeginWrite(std::string_view) final { return Refusal(); }
  Result<bool> Delete(std::string_view) final { return Refusal(); }
  Status DeletePrefix(std::string_view) final { return Refusal(); }
  Status RenamePrefix(std::string_view, std::string_view) final { return Refusal(); }
  Result<std::shared_ptr<void>> Lock(std::string_view, uint64_t) final { return Refusal(); }

 protected:
  // The error that says so, and of which store.
  virtual Status Refusal() const = 0;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_READ_ONLY_STORE_H_
