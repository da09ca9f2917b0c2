// resting_store: the store that was opened last, kept with its shadow when its last object has been closed,
// until it is opened again. To make a shadow takes longer than all else that is done to open a store and read a
// little of it.
//
// One store a process, which was opened twice in a row by the same name and with equal access lists, for reading
// only; it costs about what an open HDF5 file does (1 MiB). It serves again only if every document it was made
// of is byte for byte the same; elements are never kept. It holds no identifier of a file or an object.
#ifndef H5ZARR_H5_RESTING_STORE_H_
#define H5ZARR_H5_RESTING_STORE_H_

#include <hdf5.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "h5/file_name.h"
#include "host/handle.h"
#include "host/native.h"
#include "host/object.h"

namespace h5zarr {

// Not thread-safe: HDF5 calls under its own lock.
class RestingStore {
 public:
  // A store was opened anew.
  void NoteOpened(const FileName& name, unsigned flags, hid_t fapl);
  // Before a file is closed natively: keeps its store where that is to rest.
  void NoteClosing(const Object& file);
  // The native file of the store that rests, if it is what is to be opened, and `*store`; else null. One that is
  // not what is stored any more goes. Borrowed.
  void* Find(const FileName& name, unsigned flags, hid_t fapl, std::shared_ptr<shadow::StoreFile>* store);
  // Closes what rests, or has it closed once the program has: CloseWhatGoes.
  void Drop();
  // After an object was closed natively.
  void CloseWhatGoes();
  // The same, if it is the store at `path`, of which another shadow is about to be made.
  void DropAt(const std::string& path);
  // The store will be mounted, or have mounts: HDF5 decides how long its shadow lasts. Only within a callback on
  // an object, by which HDF5 wraps.
  void LetGoOf(const shadow::StoreFile& store);
  // The library has closed, and all identifiers and files with it.
  void Forget();

 private:
  // What was opened last for reading.
  std::string path_, given_;
  Handle fapl_;           // from its second open on
  bool may_rest_ = true;  // for all that is known of its last open
  // What of it rests, or will again when it is closed.
  std::shared_ptr<shadow::StoreFile> store_;
  host::NativeHandle file_;
  // Stores that will not rest, and are open: of a shadow's files HDF5 closes one without an identifier only as
  // the last.
  std::vector<std::pair<std::shared_ptr<shadow::StoreFile>, host::NativeHandle>> going_;
};

}  // namespace h5zarr

#endif  // H5ZARR_H5_RESTING_STORE_H_
