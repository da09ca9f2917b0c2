// ElementForm: how elements of one HDF5 type are written as JSON. What there is to ask of the type is asked
// once, however many elements follow. Internal to shadow/ and transfer/.
#ifndef H5ZARR_SHADOW_ELEMENT_FORM_H_
#define H5ZARR_SHADOW_ELEMENT_FORM_H_

#include <hdf5.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "host/handle.h"
#include "shadow/attribute_map.h"
#include "shadow/number_json.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

class ElementForm {
 public:
  // `type` must outlive this.
  explicit ElementForm(hid_t type);
  ElementForm(ElementForm&&) = default;

  std::size_t size_bytes() const { return size_bytes_; }
  // As ElementToJson and ElementFromJson.
  Result<Json> ToJson(const void* element, const ReferenceResolver& references) const;
  Status FromJson(const Json& json, void* element, const ReferenceResolver& references) const;

  // Elements one behind the other as nested lists of `dims`; from `depth` on.
  Result<Json> ListsToJson(const std::vector<hsize_t>& dims, std::size_t depth, const std::byte* first,
                           const ReferenceResolver& references) const;
  Status ListsFromJson(const Json& json, const std::vector<hsize_t>& dims, std::size_t depth, std::byte* first,
                       const ReferenceResolver& references) const;

 private:
  struct Member;

  Json StringToJson(const void* element) const;
  Status StringFromJson(const Json& json, void* element) const;
  Result<Json> SequenceToJson(const void* element, const ReferenceResolver& references) const;
  Status SequenceFromJson(const Json& json, void* element, const ReferenceResolver& references) const;
  Result<Json> CompoundToJson(const std::byte* element, const ReferenceResolver& references) const;
  Status CompoundFromJson(const Json& json, std::byte* element, const ReferenceResolver& references) const;
  Result<Json> ReferenceToJson(const void* element, const ReferenceResolver& references) const;
  Status ReferenceFromJson(const Json& json, void* element, const ReferenceResolver& references) const;
  Result<Json> ComplexToJson(const std::byte* element) const;
  Status ComplexFromJson(const Json& json, std::byte* element) const;

  hid_t type_;
  int class_;  // H5T_class_t, or kComplexClass
  std::size_t size_bytes_;
  Handle base_;                        // of an enum, a complex number, a sequence, an array
  std::optional<NumberForm> number_;   // of a number, an enum, a complex number's parts
  std::unique_ptr<ElementForm> item_;  // of a sequence or an array
  std::vector<hsize_t> dims_;          // of an array
  std::vector<Member> members_;        // of a compound
  bool is_bool_ = false;
  bool is_variable_ = false;  // a string
  H5T_str_t padding_ = H5T_STR_NULLTERM;
};

struct ElementForm::Member {
  Handle type;
  std::size_t offset_bytes;
  ElementForm form;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_ELEMENT_FORM_H_
