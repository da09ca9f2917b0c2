// written_members: which members of a compound a write has values for. Internal to transfer/.
#ifndef H5ZARR_TRANSFER_WRITTEN_MEMBERS_H_
#define H5ZARR_TRANSFER_WRITTEN_MEMBERS_H_

#include <hdf5.h>

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "zarr/json.h"

namespace h5zarr::transfer {

// HDF5 finds members by their names, and leaves those that the program's type lacks as they are in the file, at
// any depth of compounds and of arrays of them. Items of sequences keep theirs where they hold sequences, text or
// references themselves; else members that the program's type lacks become zeros, as in HDF5.
class WrittenMembers {
 public:
  // Of a conversion from the type `from` to `to`, which exists.
  static WrittenMembers Of(hid_t from, hid_t to);

  bool all() const { return all_; }
  // `written`, an element of `to` as JSON, with the members that have no value from `stored`, such an element,
  // too. kCorrupt where that is none.
  Status KeepOthers(const zarr::Json& stored, zarr::Json* written) const;

 private:
  static WrittenMembers Nothing();
  Status KeepInLists(const zarr::Json& stored, std::size_t depth, zarr::Json* written) const;

  bool all_ = true;
  bool none_ = false;  // …of it: not even the member is there
  bool is_sequence_ = false;
  std::size_t rank_ = 0;                 // of an array
  std::vector<WrittenMembers> members_;  // of a compound, or of an array's element or a sequence's
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_WRITTEN_MEMBERS_H_
