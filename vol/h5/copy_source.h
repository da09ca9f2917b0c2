// copy_source: what H5Ocopy will come upon in its source, brought into the shadows that HDF5 copies from.
#ifndef H5ZARR_H5_COPY_SOURCE_H_
#define H5ZARR_H5_COPY_SOURCE_H_

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "h5/connector.h"

namespace h5zarr {

using OwnedObject = std::unique_ptr<Object, CloseLinked>;

// Opens what a location and a name below it lead to; `loc` may be null.
Result<host::NativeHandle> OpenAt(host::NativeObject base, const H5VL_loc_params_t* loc, const char* name);

// Opens the member `name` of a group: of a hard link the object it holds, whatever file is mounted there (HDF5
// copies that as well); of others what they lead to.
Result<host::NativeHandle> OpenMember(host::NativeObject group, const std::string& name);

// Keeps what it opened until it goes out of scope: the shadows of linked stores with it.
class CopySource {
 public:
  // `options`: of H5Pset_copy_object.
  explicit CopySource(unsigned options);
  // Loads the tree below `object`, and what links in it lead to where the copy expands those.
  Status Load(Object* object);
  // Whether any of it lies in a store.
  bool met_store() const { return met_store_; }

 private:
  Status Visit(Object* object);
  Status Follow(Object* group, const std::string& name);

  const bool shallow_, expands_soft_, expands_external_;
  bool met_store_ = false;
  std::set<std::pair<unsigned long, uint64_t>> seen_;
  std::vector<OwnedObject> kept_;
};

}  // namespace h5zarr

#endif  // H5ZARR_H5_COPY_SOURCE_H_
