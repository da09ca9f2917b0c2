#include "shadow/moved_references.h"

#include <algorithm>
#include <cstring>

#include "base/checked.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/node_state.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

// A path as JSON text.
bool RenameText(const PathRenames& renames, Json* text) {
  std::optional<std::string> path = TextFromJson(*text);
  if (!path || !RenamePath(renames, &*path)) return false;
  *text = TextToJson(*path);
  return true;
}

bool RenameMember(const PathRenames& renames, const char* name, Json* object) {
  const auto found = object->is_object() ? object->find(name) : object->end();
  return found != object->end() && RenameText(renames, &*found);
}

// {"_REFERENCE": {"path": …}}, where it leads into this store.
bool RenameForeign(const PathRenames& renames, Json* json) {
  return ReferencePath(*json) != nullptr && RenameMember(renames, "path", &(*json)["_REFERENCE"]);
}

template <typename Rename>
bool RenameEach(Json* list, Rename&& rename) {
  bool renamed = false;
  if (!list->is_array()) return false;
  for (Json& item : *list) renamed |= rename(&item);
  return renamed;
}

// `depth` lists around elements of `type`.
bool RenameInLists(const PathRenames& renames, hid_t type, std::size_t depth, Json* json) {
  if (depth == 0) return RenameInElement(renames, type, json);
  return RenameEach(json, [&](Json* item) { return RenameInLists(renames, type, depth - 1, item); });
}

// An attribute without a description: references show by their form.
bool RenameNatural(const PathRenames& renames, Json* json) {
  if (RenameForeign(renames, json)) return true;
  const Json* zarr_dtype = zarr::FindMember(*json, "zarr_dtype");
  if (zarr_dtype != nullptr && *zarr_dtype == "object") {  // hdmf-zarr's
    const auto target = [&](Json* item) {
      const Json* source = zarr::FindMember(*item, "source");
      return source != nullptr && *source == "." && RenameMember(renames, "path", item);
    };
    Json& value = (*json)["value"];
    return value.is_array() ? RenameEach(&value, target) : target(&value);
  }
  return RenameEach(json, [&](Json* item) { return RenameNatural(renames, item); });
}

bool RenameInAttribute(const PathRenames& renames, const Json& description, Json* value) {
  const Json* type_json = zarr::FindMember(description, "type");
  const Json* shape = zarr::FindMember(description, "shape");
  if (type_json == nullptr || shape == nullptr) return RenameNatural(renames, value);
  const Result<Handle> type = TypeFromJson(*type_json);
  if (!type.ok() || ReferenceKinds(type->get()) == 0 || !shape->is_array()) return false;
  const bool is_list = value->is_array();  // else one element in place of a list of one
  return RenameInLists(renames, type->get(), is_list ? shape->size() : 0, value);
}

// The attributes of `values`, as `descriptions` has them.
bool RenameInValues(const PathRenames& renames, const Json& descriptions, Json* values) {
  bool renamed = false;
  if (!values->is_object()) return false;
  for (auto& [name, value] : values->items()) {
    if (name == "_hdf5" || name == "_LINKS") continue;
    if (name == ".specloc" && value.is_string()) {  // of NWB, a reference
      renamed |= RenameText(renames, &value);
      continue;
    }
    const Json* description = zarr::FindMember(descriptions, name);
    renamed |= RenameInAttribute(renames, description != nullptr ? *description : Json(), &value);
  }
  return renamed;
}

// One stored element: a path, or (of a valid `type`) JSON. What is no JSON stays what it is.
bool RenameInText(const PathRenames& renames, hid_t type, std::string* text) {
  if (type < 0) return RenamePath(renames, text);
  Result<Json> json = zarr::ParseJson(*text, "element");
  if (!json.ok() || !RenameInElement(renames, type, &*json)) return false;
  *text = zarr::DumpJson(*json, -1);
  return true;
}

}  // namespace

bool RenamePath(const PathRenames& renames, std::string* path) {
  bool renamed = false;
  for (const PathRename& rename : renames) {
    if (!path->starts_with('/')) return renamed;
    const std::string_view node = std::string_view(*path).substr(1);
    if (node != rename.from && !IsBelow(node, rename.from)) continue;
    *path = "/" + rename.to + std::string(node.substr(rename.from.size()));
    renamed = true;
  }
  return renamed;
}

bool RenameInElement(const PathRenames& renames, hid_t type, Json* element) {
  switch (TypeClass(type)) {
    case H5T_REFERENCE:
      if (!element->is_object()) return RenameText(renames, element);
      return RenameForeign(renames, element) || RenameText(renames, element) || RenameMember(renames, "path", element);
    case H5T_VLEN:
    case H5T_ARRAY: {
      const Handle item(H5Tget_super(type));
      const std::size_t depth = TypeClass(type) == H5T_ARRAY ? ArrayDims(type).size() : 1;
      return RenameInLists(renames, item.get(), depth, element);
    }
    case H5T_COMPOUND: {
      bool renamed = false;
      const auto members = static_cast<std::size_t>(std::max(H5Tget_nmembers(type), 0));
      if (!element->is_array() || element->size() != members) return false;
      for (std::size_t i = 0; i < members; ++i) {
        const Handle member(H5Tget_member_type(type, static_cast<unsigned>(i)));
        renamed |= RenameInElement(renames, member.get(), &(*element)[i]);
      }
      return renamed;
    }
    default: return false;
  }
}

bool RenameInAttributes(const PathRenames& renames, Json* attributes) {
  const auto found = attributes->find("_hdf5");
  Json* hdf5 = found != attributes->end() && found->is_object() ? &*found : nullptr;
  const Json* descriptions = hdf5 != nullptr ? zarr::FindMember(*hdf5, "attrs") : nullptr;
  const Json none;
  bool renamed = RenameInValues(renames, descriptions != nullptr ? *descriptions : none, attributes);
  if (hdf5 == nullptr) return renamed;
  renamed |= RenameMember(renames, "type_ref", hdf5);
  if (hdf5->contains("escaped")) {
    renamed |= RenameInValues(renames, descriptions != nullptr ? *descriptions : none, &(*hdf5)["escaped"]);
  }
  if (hdf5->contains("scales")) {
    renamed |= RenameEach(&(*hdf5)["scales"], [&](Json* paths) {
      return RenameEach(paths, [&](Json* path) { return RenameText(renames, path); });
    });
  }
  if (descriptions != nullptr && descriptions->is_object()) {
    for (auto& [name, description] : (*hdf5)["attrs"].items()) {
      renamed |= RenameMember(renames, "type_ref", &description);
    }
  }
  return renamed;
}

bool HoldsPaths(const ElementMap& element) {
  if (element.read_only) return false;
  if (element.form == ElementMap::Form::kObjectReference) return true;
  if (element.form != ElementMap::Form::kJsonElement) return false;
  const Result<Handle> type = TypeFromJson(element.hdf5_type);
  return type.ok() && ReferenceKinds(type->get()) != 0;
}

void PendingRenames::Clear() {
  renames_.clear();
  chunks_.reset();
  changes_.clear();
}

Status PendingRenames::Apply(const ElementMap& element, zarr::Array* array) {
  if (empty()) return OkStatus();
  if (!chunks_) {
    H5ZARR_RETURN_IF_ERROR(array->Flush());
    H5ZARR_ASSIGN_OR_RETURN(chunks_, array->ListStoredChunks());
  }
  Handle type;  // invalid where each element is a path
  if (element.form == ElementMap::Form::kJsonElement) {
    H5ZARR_ASSIGN_OR_RETURN(type, TypeFromJson(element.hdf5_type));
  }
  while (!chunks_->empty() || !changes_.empty()) {
    if (changes_.empty()) {
      H5ZARR_RETURN_IF_ERROR(FindChanges(type.get(), chunks_->back().coords, array));
      chunks_->pop_back();
    }
    H5ZARR_RETURN_IF_ERROR(WriteChanges(array));
  }
  Clear();
  return OkStatus();
}

// Reads a chunk, and notes which of its elements are to change.
Status PendingRenames::FindChanges(hid_t type, std::span<const uint64_t> chunk_coords, zarr::Array* array) {
  const std::span<const uint64_t> shape = array->shape(), unit = array->unit_shape();
  zarr::GridSelection box;
  uint64_t elems = 1;
  box.mem_strides_bytes.resize(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    const uint64_t first = chunk_coords[d] * unit[d];
    const uint64_t count = first < shape[d] ? std::min(unit[d], shape[d] - first) : 0;
    box.dims.insert(box.dims.begin(), {first, count, 1, count});
    box.mem_strides_bytes[d] = static_cast<int64_t>(elems * sizeof(VlenRef));
    const std::optional<uint64_t> product = CheckedMul(elems, count);
    if (!product || *product > INT64_MAX / sizeof(VlenRef)) {
      return NoSpaceError("a chunk of references is too large");
    }
    elems = *product;
  }
  if (elems == 0) return OkStatus();
  H5ZARR_ASSIGN_OR_RETURN(Buffer buffer, Buffer::Allocate(elems * sizeof(VlenRef)));
  const zarr::Selection selection = box;
  zarr::ReadRequest request{array, &selection, buffer.data(), {}};
  H5ZARR_RETURN_IF_ERROR(zarr::Array::Read({&request, 1}));

  for (uint64_t i = 0; i < elems; ++i) {
    VlenRef ref;
    std::memcpy(&ref, buffer.data() + i * sizeof ref, sizeof ref);
    std::string text(AsText(ByteSpan(ref.data, ref.size_bytes)));
    if (!RenameInText(renames_, type, &text)) continue;
    uint64_t offset = 0, rest = i;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      const auto stride = static_cast<uint64_t>(box.mem_strides_bytes[d]) / sizeof(VlenRef);
      offset = offset * shape[d] + box.dims[d].start + rest / stride;
      rest %= stride;
    }
    changes_.push_back({offset, std::move(text)});
  }
  return OkStatus();
}

Status PendingRenames::WriteChanges(zarr::Array* array) {
  if (changes_.empty()) return OkStatus();
  std::vector<VlenRef> refs;
  zarr::RunSelection runs;
  for (const Change& change : changes_) {
    runs.push_back({change.array_offset, refs.size() * sizeof(VlenRef), 1});
    refs.push_back({change.text.size(), AsBytes(change.text).data()});
  }
  const zarr::Selection selection = std::move(runs);
  zarr::WriteRequest request{array, &selection, reinterpret_cast<const std::byte*>(refs.data())};
  H5ZARR_RETURN_IF_ERROR(zarr::Array::Write({&request, 1}));
  changes_.clear();
  return OkStatus();
}

}  // namespace h5zarr::shadow
