// The objects and links below a group, one after the other.
#ifndef H5ZARR_MIRROR_OBJECT_TREE_H_
#define H5ZARR_MIRROR_OBJECT_TREE_H_

#include <hdf5.h>

#include <functional>
#include <string>

#include "base/status.h"
#include "host/handle.h"

namespace h5zarr::mirror {

struct TreeEntry {
  enum class Kind {
    kGroup,
    kDataset,
    kDatatype,      // a committed one
    kSameObject,    // a further hard link to what came before, at `target`
    kSoftLink,      // to `target`
    kExternalLink,  // to `target` ("file:path")
    kUserLink,      // of a class that a program defined
    kUnreadable,    // `problem` says why
  };
  Kind kind = Kind::kGroup;
  std::string path;  // from the group where the walk began: "/", "/a/b"
  std::string target;
  Handle object;                  // of the first three kinds
  std::string identity;           // of `object`, whatever its path
  hid_t group = H5I_INVALID_HID;  // that the link is in, and…
  std::string name;               // …its name there; "" for the root
  Status problem;
};

// Calls `visit` for `root` itself and for everything below it, groups before what is in them, members in
// the order that their group keeps, or by name. Soft and external links are not followed. What cannot be opened is
// visited as such and the walk goes on; a failure of `visit` ends it.
Status VisitTree(hid_t root, const std::function<Status(const TreeEntry&)>& visit);

// Which object it is, whatever its path.
Result<std::string> IdentityOf(hid_t object);

// What the link `name` of `group` is; its object is opened.
TreeEntry LookAt(hid_t group, const std::string& name);

}  // namespace h5zarr::mirror

#endif  // H5ZARR_MIRROR_OBJECT_TREE_H_
