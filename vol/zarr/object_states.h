// ObjectStates: what one call on an array has asked of the states of stored objects (Store::StateNow), so that it
// asks for each once, however many chunks of it are cached.
//
// One thread, and no longer than the call: what it knows is soon old. Within zarr/ only.
#ifndef H5ZARR_ZARR_OBJECT_STATES_H_
#define H5ZARR_ZARR_OBJECT_STATES_H_

#include <cstdint>
#include <optional>

#include "store/store.h"
#include "zarr/array_impl.h"

namespace h5zarr::zarr {

class ObjectStates {
 public:
  // Whether what was read of the object in state `generation` is what is stored now. True where the store cannot
  // tell, false for a `generation` that is not known where it can. Objects are best asked for one after the other.
  bool IsStill(const Array::Impl& array, uint64_t object, const Generation& generation) {
    if (array_ != &array || object_ != object) {
      state_ = array.store->StateNow(array.Key(object));
      array_ = &array;
      object_ = object;
    }
    return !state_ || (generation.known() && state_->generation == generation);
  }

 private:
  // The one asked for last.
  const Array::Impl* array_ = nullptr;
  uint64_t object_ = 0;
  std::optional<ObjectState> state_;
};

}  // namespace h5zarr::zarr

#endif  // H5ZARR_ZARR_OBJECT_STATES_H_
