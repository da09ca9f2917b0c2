// virtual_layout: the mappings of a virtual dataset as values, read once from a property list or a
// store's metadata.
//
// It opens no source and moves no element. A store keeps a virtual dataset as a group whose `_hdf5`
// says the mappings: an array would have to hold the sources' data, which changes without it.
#ifndef H5ZARR_SHADOW_VIRTUAL_LAYOUT_H_
#define H5ZARR_SHADOW_VIRTUAL_LAYOUT_H_

#include <hdf5.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "zarr/array.h"
#include "zarr/json.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {

using zarr::Json;

// What one side of a mapping selects.
struct MappedSelection {
  enum class Kind : uint8_t {
    kAll,  // everything, however large the dataset is
    kNone,
    kRegular,  // `dims`
    kBlocks,   // `corners`
  };
  Kind kind = Kind::kAll;
  std::vector<uint64_t> extent;          // of the dataspace it was given in; may be outdated
  std::vector<zarr::DimSelection> dims;  // count or block of `unlimited_dim` is H5S_UNLIMITED
  int unlimited_dim = -1;
  std::vector<uint64_t> corners;  // of each block the first and the last coordinates

  std::size_t rank() const { return extent.size(); }
};

struct VirtualMapping {
  std::string file;  // "." is the virtual dataset's own; "%b" in one of the names: see is_printf
  std::string dataset;
  MappedSelection source;
  MappedSelection target;  // in the virtual dataset

  // Block n of an unlimited target is mapped to a source of its own, in whose name "%b" is n.
  bool is_printf() const { return target.unlimited_dim >= 0 && source.unlimited_dim < 0; }
};

struct VirtualLayout {
  std::vector<uint64_t> shape;     // dimensions with unlimited mappings follow the sources
  std::vector<uint64_t> maxshape;  // H5S_UNLIMITED where there is no maximum
  std::vector<VirtualMapping> mappings;

  bool has_unlimited() const;
};

// `name` with "%b" replaced by `block` and "%%" by "%". kInvalidArgument for other uses of '%'.
Result<std::string> ExpandSourceName(const std::string& name, uint64_t block);

// The mappings of `dcpl`, whose layout is virtual. Shape and maxshape are those of `space`, or where it
// is H5I_INVALID_HID those that the mappings were made in (a list taken from a dataset has the
// dataset's). kUnsupported for selections HDF5 does not allow in mappings.
Result<VirtualLayout> VirtualLayoutOf(hid_t dcpl, hid_t space);

// What it takes to create a virtual dataset in a store: its group's metadata, and its layout.
struct VirtualPlan {
  zarr::GroupMetadata metadata;
  std::shared_ptr<VirtualLayout> layout;
};
// From what H5Dcreate was given. kUnsupported for types that have no description in `_hdf5`.
Result<VirtualPlan> PlanVirtual(hid_t type, hid_t space, hid_t dcpl, int zarr_format);

// Of a group found in a store: what the shadow's dataset is made from. kCorrupt, naming the member of
// `_hdf5`, where that is not what PlanVirtual writes.
struct VirtualHeader {
  Handle type;
  Handle space;
  Handle dcpl;
  std::shared_ptr<VirtualLayout> layout;
};
bool IsVirtualNode(const Json& attributes);
Result<VirtualHeader> OpenVirtual(const Json& attributes);

// After H5Dset_extent: says the new shape.
void NoteVirtualShape(const VirtualLayout& layout, Json* attributes);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_VIRTUAL_LAYOUT_H_
