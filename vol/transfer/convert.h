// convert: elements between their stored form and the memory form a program asks for.
//
// Works on packed temporaries; how elements get from and to the array and the program's buffer is
// dataset_io's and slab's. Calls HDF5: on the calling thread only.
#ifndef H5ZARR_TRANSFER_CONVERT_H_
#define H5ZARR_TRANSFER_CONVERT_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/attribute_map.h"
#include "shadow/type_map.h"
#include "transfer/number_conversion.h"
#include "transfer/vlen.h"
#include "transfer/written_members.h"

namespace h5zarr::transfer {

enum class Direction : uint8_t { kRead, kWrite };

class Conversion {
 public:
  // For elements of `element` in memory of type `mem_type`. kUnsupported, as HDF5 says it, where
  // there is no conversion between the two. Everything passed must outlive the conversion.
  static Result<Conversion> Make(const shadow::ElementMap& element, hid_t mem_type, Direction direction, hid_t dxpl,
                                 const shadow::ReferenceResolver& references);

  // Whether Make would give one that is_noop, where a comparison tells; false also where it does not.
  static bool IsNoop(const shadow::ElementMap& element, hid_t mem_type);

  // True when stored and memory elements are the same bytes: nothing to do.
  bool is_noop() const { return kind_ == Kind::kNoop; }
  // Set where elements are numbers that need no HDF5: ToMemory and ToStored are not for them.
  const std::optional<NumberConversion>& number() const { return number_; }
  // Bytes of one element in the program's buffer.
  uint64_t mem_bytes() const { return mem_bytes_; }
  // Room one element needs in the packed temporary.
  uint64_t work_bytes() const { return work_bytes_; }
  // A read needs the elements that are in the program's memory, a write those in the file (because
  // members that one side lacks keep their values).
  bool needs_background() const { return needs_background_; }

  // Converts `elems` packed elements in place. `background`: packed elements of memory (ToMemory)
  // or stored (ToStored) form, or null when not needed; it is destroyed.
  Status ToMemory(std::byte* work, uint64_t elems, std::byte* background);
  // The result may point into `arena` and into the program's memory.
  Status ToStored(std::byte* work, uint64_t elems, std::byte* background, VlenArena& arena);

 private:
  enum class Kind : uint8_t {
    kNoop,
    kNumber,  // see number()
    kType,    // H5Tconvert
    kUtf32,   // UTF-8, then H5Tconvert where types differ
    kVlenString,
    kVlenSequence,
    kReference,
    kAnyReference,  // read as H5R_ref_t
    kJson,
  };

  Conversion(const shadow::ElementMap& element, hid_t mem_type, hid_t dxpl, const shadow::ReferenceResolver& references)
      : element_(&element), mem_type_(mem_type), dxpl_(dxpl), references_(&references) {}

  Status Init(Direction direction);
  bool InitNumber(Direction direction);
  bool HasConversionCallback() const;
  Status InitPlain(Direction direction);
  Status TakeEnumsForIntegers(Handle* stored_type);
  Status InitSequence(Direction direction);
  Status CheckDirection(Direction direction) const;  // what may be read only
  Status InitReference(Direction direction);
  Status InitJson(Direction direction);
  // Between UTF-32 and UTF-8, wherever there is such text in `elems` packed stored elements.
  Status RewriteTexts(std::byte* stored, uint64_t elems, bool to_utf8) const;
  Status InitTypes(Handle stored_type, Direction direction);

  const shadow::ElementMap* element_;
  hid_t mem_type_;  // the program's, or mem_copy_
  Handle mem_copy_;
  hid_t dxpl_;
  const shadow::ReferenceResolver* references_;
  Kind kind_ = Kind::kNoop;
  std::optional<NumberConversion> number_;
  bool types_equal_ = true;  // kUtf32, kJson: no H5Tconvert after or before
  bool needs_background_ = false;
  WrittenMembers written_;  // kJson, of a write
  uint64_t stored_bytes_ = 0;
  uint64_t mem_bytes_ = 0;
  uint64_t work_bytes_ = 0;
  Handle stored_type_;       // kType, kUtf32: of the stored bytes; kJson: the reported type
  uint64_t type_bytes_ = 0;  // of stored_type_
  std::vector<shadow::Utf32Part> utf32_parts_;
  VlenAllocator allocator_;
  ItemConversion items_;
  Handle stored_item_;
  Handle mem_item_;
};

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_CONVERT_H_
