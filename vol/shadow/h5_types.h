// h5_types: the few HDF5 datatypes everything here is made of, and questions about a datatype.
//
// Types are made from eight predefined ones by changing size and order, because predefined names
// differ between HDF5 releases (float16 came with 1.14.4).
#ifndef H5ZARR_SHADOW_H5_TYPES_H_
#define H5ZARR_SHADOW_H5_TYPES_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "host/error_stack.h"
#include "host/handle.h"

namespace h5zarr::shadow {

// HDF5 2.0's native complex class, which the headers of 1.14 do not name.
inline constexpr int kComplexClass = 11;

using host::QuietErrors;

// Each returns an invalid handle only when HDF5 itself fails.
Handle MakeInteger(uint64_t size_bytes, bool is_signed, Endian endian);
Handle MakeBitfield(uint64_t size_bytes, Endian endian);
Handle MakeFixedString(uint64_t size_bytes, H5T_str_t pad, H5T_cset_t cset);
Handle MakeVlenString(H5T_str_t pad, H5T_cset_t cset);
Handle MakeComplexCompound(const Handle& part);
// `format` as DType::format. Invalid as well where HDF5 cannot describe it.
Handle MakeFloat(uint64_t size_bytes, std::string_view format, Endian endian);
// An enum of the members of `type` over `base` (which may have another size or order).
Result<Handle> RebaseEnum(hid_t type, hid_t base);

// The class, also for those the headers do not name. H5T_NO_CLASS (-1) on failure.
int TypeClass(hid_t type);
Endian TypeOrder(hid_t type);
// No padding bits, and a size Zarr has: 1, 2, 4 or 8 bytes.
bool IsFullWidth(hid_t type);
// DType::format where the float `type` is one that Zarr has, nothing for any other.
std::optional<std::string> FloatFormat(hid_t type);
bool IsVlenString(hid_t type);
bool IsObjectReference(hid_t type);
// True where a value of `type` holds pointers or references anywhere.
bool HoldsVlenOrReference(hid_t type);
// The kinds of references that a value of `type` holds, a bit each.
inline constexpr unsigned kObjectReferences = 1, kRegionReferences = 2, kAnyReferences = 4;
unsigned ReferenceKinds(hid_t type);
// A compound of these members, one behind the other.
Result<Handle> PackedCompound(const std::vector<std::pair<std::string, Handle>>& members);
// `type` with H5T_STD_REF in place of every other reference. (As H5Tconvert cannot: outside files,
// HDF5 has no conversion between references.)
Result<Handle> WithAnyReferences(hid_t type);
// `type` with the base of every enumeration in its place; compounds packed, or with their offsets.
enum class Layout { kPacked, kAsItIs };
Result<Handle> WithoutEnums(hid_t type, Layout layout);
// Makes every reference in `elems` elements of `type` in memory a null one.
void NullReferences(hid_t type, void* elements, uint64_t elems);
std::string MemberName(hid_t type, unsigned index);
// The tag of an opaque type.
std::string OpaqueTag(hid_t type);
std::vector<hsize_t> ArrayDims(hid_t type);

// What a type is called in messages: "compound of 3 members", "16-byte float".
std::string DescribeType(hid_t type);

// kInternal: HDF5 refused `what`, which it should not.
Status Hdf5Failure(std::string_view what);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_H5_TYPES_H_
