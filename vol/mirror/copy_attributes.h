// What is copied of an object once all objects are there: attributes, comments and references.
#ifndef H5ZARR_MIRROR_COPY_ATTRIBUTES_H_
#define H5ZARR_MIRROR_COPY_ATTRIBUTES_H_

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/status.h"
#include "mirror/pieces.h"

namespace h5zarr::mirror {

// Makes references of one file lead to the copies in another, which are at the same paths.
class CopiedReferences {
 public:
  // The object that `info` is of was found at `path`.
  void Note(const H5O_info2_t& info, const std::string& path);

  // In `count` elements of `type`, which came from the file of `source`. What leads to no object that was
  // copied becomes a null reference.
  Status Translate(hid_t source, hid_t to, hid_t type, void* data, uint64_t count) const;
  Status Translate(hid_t source, hid_t to, Elements* elements) const;

 private:
  std::map<uint64_t, std::string> path_of_;  // by token
};

// Copies every attribute but those named in `without`, in the order that they have there.
Status CopyAttributes(hid_t from, hid_t copy, hid_t to_file, const std::set<std::string>& without,
                      const CopiedReferences& references);
Status CopyComment(hid_t from, hid_t copy);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_COPY_ATTRIBUTES_H_
