#include <cstring>
#include <string>
#include <utility>

#include "host/handle.h"
#include "shadow/element_form.h"
#include "transfer/elements.h"
#include "transfer/vlen.h"

namespace h5zarr::transfer {

namespace {

Result<zarr::Json> ParseElement(const VlenRef& ref) {
  return zarr::ParseJson(AsText(ByteSpan(ref.data, ref.size_bytes)), "element");
}

Status ElementFromText(const VlenRef& ref, const shadow::ElementForm& form, std::byte* element,
                       const shadow::ReferenceResolver& references) {
  H5ZARR_ASSIGN_OR_RETURN(const zarr::Json json, ParseElement(ref));
  return form.FromJson(json, element, references);
}

}  // namespace

Status JsonToMemory(std::byte* work, uint64_t elems, hid_t type, uint64_t type_bytes,
                    const shadow::ReferenceResolver& references) {
  // In place: towards the end where the memory form is smaller, else from the end.
  const shadow::ElementForm form(type);
  const bool forward = type_bytes <= sizeof(VlenRef);
  for (uint64_t step = 0; step < elems; ++step) {
    const uint64_t i = forward ? step : elems - 1 - step;
    const auto ref = LoadAt<VlenRef>(work, i);
    std::byte* element = work + i * type_bytes;
    std::memset(element, 0, type_bytes);
    if (ref.size_bytes == 0) continue;
    const Status status = ElementFromText(ref, form, element, references);
    if (status.ok()) continue;
    std::byte* made = forward ? work : work + (i + 1) * type_bytes;
    ReclaimElements(made, step, type);
    return status;
  }
  return OkStatus();
}

Status JsonToStored(std::byte* work, uint64_t elems, hid_t type, uint64_t type_bytes,
                    const shadow::ReferenceResolver& references, VlenArena& arena, const WrittenMembers* written,
                    const std::byte* stored) {
  arena.texts.resize(elems);
  const shadow::ElementForm form(type);
  for (uint64_t i = 0; i < elems; ++i) {
    H5ZARR_ASSIGN_OR_RETURN(zarr::Json json, form.ToJson(work + i * type_bytes, references));
    const VlenRef old = written != nullptr ? LoadAt<VlenRef>(stored, i) : VlenRef();
    if (old.size_bytes > 0) {
      H5ZARR_ASSIGN_OR_RETURN(const zarr::Json before, ParseElement(old));
      H5ZARR_RETURN_IF_ERROR(written->KeepOthers(before, &json));
    }
    arena.texts[i] = zarr::DumpJson(json, -1);
  }
  for (uint64_t i = 0; i < elems; ++i) StoreAt(work, i, RefTo(arena.texts[i]));
  return OkStatus();
}

void ReclaimElements(std::byte* elements, uint64_t elems, hid_t type) {
  if (elems == 0) return;
  const hsize_t dims[] = {elems};
  const Handle space(H5Screate_simple(1, dims, nullptr));
  // The default transfer list frees with free().
  H5Treclaim(type, space.get(), H5P_DEFAULT, elements);
}

}  // namespace h5zarr::transfer
