// copy_references: what becomes of references in copied elements.
#ifndef H5ZARR_H5_COPY_REFERENCES_H_
#define H5ZARR_H5_COPY_REFERENCES_H_

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <functional>

#include "base/status.h"
#include "host/handle.h"
#include "host/native.h"

namespace h5zarr {

// Without `object` all references stay as they are.
struct Translate {
  // What takes the place of an object reference (hobj_ref_t).
  std::function<Result<uint64_t>(uint64_t)> object;
  // Changes a reference of another kind, in place. Without it these become null references.
  std::function<Status(hid_t type, void* reference)> other;
  explicit operator bool() const { return object != nullptr; }
};

// Translates the references in `count` elements of `type` in memory, `stride` bytes apart.
Status TranslateReferences(hid_t type, std::byte* data, uint64_t count, uint64_t stride, const Translate& translate);

// An identifier of an object; takes it over, also on failure.
Result<Handle> RegisterNative(host::NativeHandle native);

// Opens the copy of the object that `target` is about.
using CopyOfTarget = std::function<Result<Handle>(const H5O_info2_t& target)>;

// Makes a region reference or an H5R_ref_t one to the same region or attribute of the copy of its target.
// `source`: an identifier in its file. One that leads nowhere becomes a null reference.
Status Retarget(hid_t source, hid_t type, void* reference, const CopyOfTarget& copy_of);

}  // namespace h5zarr

#endif  // H5ZARR_H5_COPY_REFERENCES_H_
