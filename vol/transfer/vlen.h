// vlen: elements of variable length between an array's VlenRefs and the memory forms of HDF5:
// char*, hvl_t, references, and elements stored as JSON.
//
// All functions convert `elems` packed elements in place: `work` has room for the larger of both
// forms and need not be aligned for either. They call HDF5, so they run on the calling thread only.
#ifndef H5ZARR_TRANSFER_VLEN_H_
#define H5ZARR_TRANSFER_VLEN_H_

#include <hdf5.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/dtype.h"
#include "base/status.h"
#include "shadow/attribute_map.h"
#include "transfer/written_members.h"

namespace h5zarr::transfer {

// Where the program wants variable-length data to be (H5Pset_vlen_mem_manager; else malloc).
class VlenAllocator {
 public:
  static Result<VlenAllocator> FromTransferList(hid_t dxpl);

  // `size_bytes` (at least 1) bytes; null when there is no memory.
  void* Allocate(uint64_t size_bytes) const;
  void Free(void* memory) const;
  bool is_default() const { return allocate_ == nullptr; }

 private:
  H5MM_allocate_t allocate_ = nullptr;
  void* allocate_info_ = nullptr;
  H5MM_free_t free_ = nullptr;
  void* free_info_ = nullptr;
};

// What the VlenRefs of a write point into, where not into the program's own memory.
struct VlenArena {
  std::vector<std::string> texts;
  Buffer items;
};

// How the items of sequences convert; the types are borrowed.
struct ItemConversion {
  bool equal = true;  // stored and memory items are the same bytes
  bool compound = false;
  hid_t stored_type = H5I_INVALID_HID;
  hid_t mem_type = H5I_INVALID_HID;
  uint64_t stored_bytes = 0;
  uint64_t mem_bytes = 0;
};

// Text ↔ char*. An empty text is an allocated "" in memory; a null pointer is stored as empty text;
// a NUL ends the program's C string, and one within a stored text is kUnsupported.
Status StringsToMemory(std::byte* work, uint64_t elems, const VlenAllocator& allocator);
Status StringsToStored(std::byte* work, uint64_t elems);

// Packed items ↔ hvl_t. kCorrupt where stored bytes are no whole number of items. Items of compound
// type whose members are not all there get zeros in the others.
Status SequencesToMemory(std::byte* work, uint64_t elems, const ItemConversion& items, const VlenAllocator& allocator,
                         hid_t dxpl);
Status SequencesToStored(std::byte* work, uint64_t elems, const ItemConversion& items, hid_t dxpl, VlenArena& arena);

// Paths ↔ hobj_ref_t. A path that leads nowhere is a null reference in memory.
Status ReferencesToMemory(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references);
// …and H5R_ref_t, to read only.
Status AnyReferencesToMemory(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references);
Status ReferencesToStored(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references,
                          VlenArena& arena);

// JSON texts ↔ elements of `type` (`type_bytes` large) in memory. What elements read hold was made
// with malloc. An empty text (the fill value) is an element of zero bytes. Where `written` is given, members
// without a value are those of `stored`, packed texts of the same elements.
Status JsonToMemory(std::byte* work, uint64_t elems, hid_t type, uint64_t type_bytes,
                    const shadow::ReferenceResolver& references);
Status JsonToStored(std::byte* work, uint64_t elems, hid_t type, uint64_t type_bytes,
                    const shadow::ReferenceResolver& references, VlenArena& arena,
                    const WrittenMembers* written = nullptr, const std::byte* stored = nullptr);
// Frees what `elems` packed elements of `type` hold, made with malloc.
void ReclaimElements(std::byte* elements, uint64_t elems, hid_t type);

}  // namespace h5zarr::transfer

#endif  // H5ZARR_TRANSFER_VLEN_H_
