#include "transfer/vlen.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/checked.h"
#include "host/handle.h"
#include "shadow/json_text.h"
#include "transfer/elements.h"

namespace h5zarr::transfer {
namespace {

Status NoMemoryFor(uint64_t size_bytes) {
  return NoSpaceError("no memory for " + std::to_string(size_bytes) + " bytes of variable-length data");
}

Status NulInText(const VlenRef& ref) {
  const std::string text(reinterpret_cast<const char*>(ref.data), ref.size_bytes);
  return UnsupportedError("element " + zarr::BriefJson(shadow::TextToJson(text)) +
                          " has a NUL in it: HDF5's strings of variable length end there");
}

// The number of items in `ref`, or an error.
Result<uint64_t> ItemCount(const VlenRef& ref, uint64_t item_bytes) {
  if (ref.size_bytes % item_bytes == 0) return ref.size_bytes / item_bytes;
  return CorruptError("variable-length element of " + std::to_string(ref.size_bytes) +
                      " bytes, expected a multiple of " + std::to_string(item_bytes));
}

// Converts `items` packed items in place.
Status ConvertItems(hid_t from, hid_t to, uint64_t to_bytes, bool compound, uint64_t items, std::byte* buffer,
                    hid_t dxpl) {
  if (items == 0) return OkStatus();
  Buffer background;
  if (compound) {
    const auto size_bytes = CheckedMul(items, to_bytes);
    if (!size_bytes) return OutOfRangeError("variable-length data beyond 2^64 bytes");
    H5ZARR_ASSIGN_OR_RETURN(background, Buffer::Allocate(*size_bytes));
    std::memset(background.data(), 0, background.size_bytes());
  }
  return ConvertElements(from, to, items, buffer, background.data(), dxpl);
}

}  // namespace

Result<VlenAllocator> VlenAllocator::FromTransferList(hid_t dxpl) {
  VlenAllocator allocator;
  if (dxpl == H5P_DEFAULT) return allocator;
  if (H5Pget_vlen_mem_manager(dxpl, &allocator.allocate_, &allocator.allocate_info_, &allocator.free_,
                              &allocator.free_info_) < 0) {
    return InvalidArgumentError("not a dataset transfer property list");
  }
  return allocator;
}

void* VlenAllocator::Allocate(uint64_t size_bytes) const {
  return allocate_ != nullptr ? allocate_(size_bytes, allocate_info_) : std::malloc(size_bytes);
}

void VlenAllocator::Free(void* memory) const {
  if (memory == nullptr) return;
  if (allocate_ == nullptr) {
    std::free(memory);
  } else if (free_ != nullptr) {
    free_(memory, free_info_);
  }
}

Status StringsToMemory(std::byte* work, uint64_t elems, const VlenAllocator& allocator) {
  for (uint64_t i = 0; i < elems; ++i) {
    const auto ref = LoadAt<VlenRef>(work, i);
    const bool has_nul = ref.size_bytes > 0 && std::memchr(ref.data, 0, ref.size_bytes) != nullptr;
    char* text = nullptr;
    if (!has_nul && ref.size_bytes < static_cast<uint64_t>(INT64_MAX)) {
      text = static_cast<char*>(allocator.Allocate(ref.size_bytes + 1));
    }
    if (text == nullptr) {
      while (i-- > 0) allocator.Free(LoadAt<char*>(work, i));
      return has_nul ? NulInText(ref) : NoMemoryFor(ref.size_bytes);
    }
    if (ref.size_bytes > 0) std::memcpy(text, ref.data, ref.size_bytes);
    text[ref.size_bytes] = '\0';
    StoreAt(work, i, text);  // at or before what was just read
  }
  return OkStatus();
}

Status StringsToStored(std::byte* work, uint64_t elems) {
  for (uint64_t i = elems; i-- > 0;) {  // backwards: the stored form is larger
    const char* text = LoadAt<const char*>(work, i);
    VlenRef ref;
    if (text != nullptr) ref = {std::strlen(text), reinterpret_cast<const std::byte*>(text)};
    StoreAt(work, i, ref);
  }
  return OkStatus();
}

Status SequencesToMemory(std::byte* work, uint64_t elems, const ItemConversion& items, const VlenAllocator& allocator,
                         hid_t dxpl) {
  // All items of all elements convert together: one call of HDF5, whatever the elements' lengths.
  uint64_t total_items = 0;
  for (uint64_t i = 0; i < elems; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(const uint64_t count, ItemCount(LoadAt<VlenRef>(work, i), items.stored_bytes));
    const auto sum = CheckedAdd(total_items, count);
    if (!sum) return OutOfRangeError("variable-length data beyond 2^64 items");
    total_items = *sum;
  }
  Buffer converted;
  if (!items.equal) {
    const auto size_bytes = CheckedMul(total_items, std::max(items.stored_bytes, items.mem_bytes));
    if (!size_bytes) return OutOfRangeError("variable-length data beyond 2^64 bytes");
    H5ZARR_ASSIGN_OR_RETURN(converted, Buffer::Allocate(*size_bytes));
    std::byte* target = converted.data();
    for (uint64_t i = 0; i < elems; ++i) {
      const auto ref = LoadAt<VlenRef>(work, i);
      if (ref.size_bytes > 0) std::memcpy(target, ref.data, ref.size_bytes);
      target += ref.size_bytes;
    }
    H5ZARR_RETURN_IF_ERROR(ConvertItems(items.stored_type, items.mem_type, items.mem_bytes, items.compound, total_items,
                                        converted.data(), dxpl));
  }
  const std::byte* next = converted.data();
  for (uint64_t i = 0; i < elems; ++i) {
    const auto ref = LoadAt<VlenRef>(work, i);
    hvl_t sequence{ref.size_bytes / items.stored_bytes, nullptr};
    if (sequence.len > 0) {
      const uint64_t size_bytes = sequence.len * items.mem_bytes;
      sequence.p = allocator.Allocate(size_bytes);
      if (sequence.p == nullptr) {
        while (i-- > 0) allocator.Free(LoadAt<hvl_t>(work, i).p);
        return NoMemoryFor(size_bytes);
      }
      std::memcpy(sequence.p, items.equal ? ref.data : next, size_bytes);
      if (!items.equal) next += size_bytes;
    }
    StoreAt(work, i, sequence);
  }
  return OkStatus();
}

Status SequencesToStored(std::byte* work, uint64_t elems, const ItemConversion& items, hid_t dxpl, VlenArena& arena) {
  uint64_t total_items = 0;
  for (uint64_t i = 0; i < elems; ++i) {
    auto sequence = LoadAt<hvl_t>(work, i);
    if (sequence.p == nullptr) sequence.len = 0;  // HDF5 takes a null pointer for empty, too
    const auto sum = CheckedAdd(total_items, sequence.len);
    const auto size_bytes = sum ? CheckedMul(*sum, std::max(items.stored_bytes, items.mem_bytes)) : std::nullopt;
    if (!size_bytes) return OutOfRangeError("variable-length data beyond 2^64 bytes");
    total_items = *sum;
    StoreAt(work, i, sequence);
  }
  std::byte* next = nullptr;
  if (!items.equal) {
    H5ZARR_ASSIGN_OR_RETURN(arena.items, Buffer::Allocate(total_items * std::max(items.stored_bytes, items.mem_bytes)));
    next = arena.items.data();
    for (uint64_t i = 0; i < elems; ++i) {
      const auto sequence = LoadAt<hvl_t>(work, i);
      if (sequence.len == 0) continue;
      std::memcpy(next, sequence.p, sequence.len * items.mem_bytes);
      next += sequence.len * items.mem_bytes;
    }
    next = arena.items.data();
    H5ZARR_RETURN_IF_ERROR(
        ConvertItems(items.mem_type, items.stored_type, items.stored_bytes, items.compound, total_items, next, dxpl));
  }
  for (uint64_t i = 0; i < elems; ++i) {
    const auto sequence = LoadAt<hvl_t>(work, i);
    const std::byte* data = items.equal ? static_cast<const std::byte*>(sequence.p) : next;
    const VlenRef ref{sequence.len * items.stored_bytes, data};
    if (!items.equal) next += ref.size_bytes;
    StoreAt(work, i, ref);
  }
  return OkStatus();
}

Status ReferencesToMemory(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references) {
  for (uint64_t i = 0; i < elems; ++i) {
    const auto ref = LoadAt<VlenRef>(work, i);
    hobj_ref_t reference = 0;
    if (ref.size_bytes > 0) {
      std::string path(reinterpret_cast<const char*>(ref.data), ref.size_bytes);
      // LINDI's are JSON objects.
      if (path[0] == '{') {
        H5ZARR_ASSIGN_OR_RETURN(const zarr::Json json, zarr::ParseJson(path, "reference"));
        const zarr::Json* within = shadow::ReferencePath(json);
        path = within != nullptr ? within->get<std::string>() : std::string();
      }
      H5ZARR_ASSIGN_OR_RETURN(const bool is_there, references.from_path(path, &reference));
      if (!is_there) reference = 0;
    }
    StoreAt(work, i, reference);
  }
  return OkStatus();
}

Status AnyReferencesToMemory(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references) {
  static_assert(sizeof(H5R_ref_t) >= sizeof(VlenRef));
  for (uint64_t i = elems; i-- > 0;) {  // backwards: the memory form is larger
    const auto ref = LoadAt<VlenRef>(work, i);
    H5R_ref_t reference;
    const zarr::Json path(std::string(reinterpret_cast<const char*>(ref.data), ref.size_bytes));
    H5ZARR_RETURN_IF_ERROR(references.from_json(path, H5T_STD_REF, &reference));
    StoreAt(work, i, reference);
  }
  return OkStatus();
}

Status ReferencesToStored(std::byte* work, uint64_t elems, const shadow::ReferenceResolver& references,
                          VlenArena& arena) {
  arena.texts.resize(elems);
  for (uint64_t i = elems; i-- > 0;) {
    const auto reference = LoadAt<hobj_ref_t>(work, i);
    if (reference != 0) arena.texts[i] = references.to_path(&reference);
    StoreAt(work, i, RefTo(arena.texts[i]));
  }
  return OkStatus();
}

}  // namespace h5zarr::transfer
