#include "shadow/merge_documents.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "shadow/conventions.h"
#include "shadow/hdf5_member.h"

namespace h5zarr::shadow {
namespace {

using zarr::Json;

constexpr const char* kHdf5 = "_hdf5";
constexpr const char* kLinks = "_LINKS";
constexpr const char* kDimensions = "_ARRAY_DIMENSIONS";
// The members of `_hdf5` that say, with the names of dimensions, what is attached to them.
constexpr std::array kDimensionMembers = {"scale", "scales", "labels"};
// Those that say what a node is: who changes them makes another one of it.
constexpr std::array kIdentityMembers = {"kind", "type"};

// Equal in kind too: 1 is not 1.0, and NaN is NaN. The order of members does not count.
bool Same(const Json& a, const Json& b) {
  if (a.is_object() && b.is_object()) {
    return a.size() == b.size() && std::all_of(a.items().begin(), a.items().end(), [&](const auto& member) {
             const auto other = b.find(member.key());
             return other != b.end() && Same(member.value(), *other);
           });
  }
  if (a.is_array() && b.is_array()) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), Same);
  }
  if (a.is_number_float() != b.is_number_float()) return false;
  if (a.is_number_float() && std::isnan(a.get<double>()) && std::isnan(b.get<double>())) return true;
  return a == b;
}

// One thing as three documents have it; null where it is not there.
struct Versions {
  Json base, ours, theirs;
  bool ours_changed() const { return !Same(base, ours); }
};

std::string Shown(const Json& value) {
  if (value.is_null()) return "not there";
  const Json* shown = zarr::FindMember(value, "value");
  return zarr::BriefJson(shown != nullptr ? *shown : value);
}

// Whether it is ours that counts: kChanged where both changed it.
Result<bool> IsOurs(const Versions& versions, const std::string& what) {
  if (Same(versions.ours, versions.theirs) || !versions.ours_changed()) return false;
  if (Same(versions.base, versions.theirs)) return true;
  const std::string there = Shown(versions.theirs), here = Shown(versions.ours);
  return ChangedError(what + " was changed by another program, too: in the store it is " + there + ", here it is " +
                      (there == here ? "the same with another type" : here) +
                      "; nothing was overwritten, and what was changed here is not stored");
}

// The names in `ours`, then those of `base` that are no longer there: all that this writer may have changed.
std::vector<std::string> NamesToLookAt(const Json& base, const Json& ours) {
  std::vector<std::string> names;
  for (const auto& [name, value] : ours.items()) names.push_back(name);
  for (const auto& [name, value] : base.items()) {
    if (!ours.contains(name)) names.push_back(name);
  }
  return names;
}

Json MemberOf(const Json& object, const std::string& name) {
  const Json* member = zarr::FindMember(object, name);
  return member != nullptr ? *member : Json();
}

// --- attributes ----------------------------------------------------------------------------------

// Attributes as HDF5 has them, by name: {"value": …, "description": …}, of what is in the document as it is, or (of
// hidden names) of those that are the program's own.
Json Attributes(const Json& attributes, bool escaped) {
  Json whole = Json::object();
  const Json values = escaped ? Hdf5Member(attributes, "escaped") : attributes;
  for (const auto& [name, value] : values.items()) {
    if (name != kHdf5 && (escaped || name != kLinks)) whole[name]["value"] = value;
  }
  const Json descriptions = Hdf5Member(attributes, "attrs");
  for (const auto& [name, description] : descriptions.items()) {
    if (IsHiddenAttribute(name) == escaped) whole[name]["description"] = description;
  }
  return whole;
}

void SetMemberOfHdf5(Json* attributes, const char* member, const std::string& name, const Json* value) {
  Json object = Hdf5Member(*attributes, member);
  if (!object.is_object()) object = Json::object();
  if (value != nullptr) {
    object[name] = *value;
  } else {
    object.erase(name);
  }
  SetHdf5Member(attributes, member, object.empty() ? Json() : std::move(object));
}

void SetWhole(Json* attributes, const std::string& name, const Json& whole, bool escaped) {
  const Json* value = zarr::FindMember(whole, "value");
  if (escaped || !IsHiddenAttribute(name)) {
    SetMemberOfHdf5(attributes, "attrs", name, zarr::FindMember(whole, "description"));
  }
  if (escaped) {
    SetMemberOfHdf5(attributes, "escaped", name, value);
  } else if (value != nullptr) {
    (*attributes)[name] = *value;
  } else {
    attributes->erase(name);
  }
}

struct Documents {
  const Json& base;
  const Json& ours;
  const Json& theirs;
};

Status MergeAttributes(const Documents& from, bool escaped, bool is_array, Json* merged) {
  const Json base = Attributes(from.base, escaped), ours = Attributes(from.ours, escaped),
             theirs = Attributes(from.theirs, escaped);
  for (const std::string& name : NamesToLookAt(base, ours)) {
    if (!escaped && is_array && name == kDimensions) continue;  // see MergeDimensions
    const Versions versions{MemberOf(base, name), MemberOf(ours, name), MemberOf(theirs, name)};
    H5ZARR_ASSIGN_OR_RETURN(const bool is_ours, IsOurs(versions, "attribute '" + name + "'"));
    if (is_ours) SetWhole(merged, name, versions.ours, escaped);
  }
  return OkStatus();
}

// --- lists and maps by name ----------------------------------------------------------------------

// A list of objects that have names, as an object by these.
Json ByName(const Json& list) {
  Json by_name = Json::object();
  if (!list.is_array()) return by_name;
  for (const Json& entry : list) {
    if (const auto name = zarr::StringMember(entry, "name")) by_name[*name] = entry;
  }
  return by_name;
}

Result<Json> MergeMap(const Json& base, const Json& ours, Json theirs, const std::string& what) {
  if (!theirs.is_object()) theirs = Json::object();
  for (const std::string& name : NamesToLookAt(base, ours)) {
    const Versions versions{MemberOf(base, name), MemberOf(ours, name), MemberOf(theirs, name)};
    H5ZARR_ASSIGN_OR_RETURN(const bool is_ours, IsOurs(versions, what + " '" + name + "'"));
    if (!is_ours) continue;
    if (versions.ours.is_null()) {
      theirs.erase(name);
    } else {
      theirs[name] = versions.ours;
    }
  }
  return theirs.empty() ? Json() : theirs;
}

Result<Json> MergeList(const Json& base, const Json& ours, const Json& theirs, const std::string& what) {
  H5ZARR_ASSIGN_OR_RETURN(const Json by_name, MergeMap(ByName(base), ByName(ours), ByName(theirs), what));
  Json list = Json::array();
  for (const auto& [name, entry] : by_name.items()) list.push_back(entry);
  return list.empty() ? Json() : list;
}

// Names in the order in which they were made: those of others, without what was removed here, and our new ones.
Json JoinOrders(const Json& base, const Json& ours, const Json& theirs) {
  const std::set<Json> in_base(base.begin(), base.end()), in_ours(ours.begin(), ours.end()),
      in_theirs(theirs.begin(), theirs.end());
  Json joined = Json::array();
  for (const Json& name : theirs) {
    if (in_ours.count(name) != 0 || in_base.count(name) == 0) joined.push_back(name);
  }
  for (const Json& name : ours) {
    if (in_base.count(name) == 0 && in_theirs.count(name) == 0) joined.push_back(name);
  }
  return joined;
}

// --- members of `_hdf5` --------------------------------------------------------------------------

Json LaterTimes(const Json& ours, Json theirs) {
  for (const auto& [name, time] : ours.items()) {
    const Json other = MemberOf(theirs, name);
    const bool are_times = time.is_number_integer() && other.is_number_integer();
    if (!are_times || other.get<int64_t>() < time.get<int64_t>()) theirs[name] = time;
  }
  return theirs;
}

Result<Json> MergeMember(const std::string& name, const Versions& versions) {
  const auto& [base, ours, theirs] = versions;
  if (name == "link_csets") return MergeMap(base, ours, theirs, "the character set of link");
  if (name == "dimensions") return MergeMap(base, ours, theirs, "dimension");
  if (name == "user_links") return MergeList(base, ours, theirs, "link");
  if (name == "order" || name == "attr_order") {
    if (ours.is_array() && theirs.is_array()) return JoinOrders(base, ours, theirs);
    // `true`: attributes are in the order of the document, about which a list says more.
    if (ours == true && theirs.is_array()) return theirs;
    if (theirs == true && ours.is_array()) return ours;
  }
  if (name == "times" && ours.is_object() && theirs.is_object()) return LaterTimes(ours, theirs);
  H5ZARR_ASSIGN_OR_RETURN(const bool is_ours, IsOurs(versions, "member '_hdf5." + name + "'"));
  return is_ours ? ours : theirs;
}

Status MergeHdf5(const Documents& from, Json* merged) {
  const Json base = MemberOf(from.base, kHdf5), ours = MemberOf(from.ours, kHdf5);
  for (const std::string& name : NamesToLookAt(base, ours)) {
    const bool is_elsewhere =
        name == "version" || name == "attrs" || name == "escaped" ||
        std::find(kDimensionMembers.begin(), kDimensionMembers.end(), name) != kDimensionMembers.end();
    if (is_elsewhere) continue;
    const Versions versions{MemberOf(base, name), MemberOf(ours, name), Hdf5Member(from.theirs, name)};
    H5ZARR_ASSIGN_OR_RETURN(Json value, MergeMember(name, versions));
    SetHdf5Member(merged, name, std::move(value));
  }
  return OkStatus();
}

// --- arrays --------------------------------------------------------------------------------------

// All that says what an array's dimensions are called and what is attached to them.
Json DimensionsOf(const zarr::ArrayMetadata& metadata) {
  Json all = Json::object();
  all["names"] = Json::array();
  for (const auto& name : metadata.dimension_names) all["names"].push_back(name ? Json(*name) : Json());
  all[kDimensions] = MemberOf(metadata.attributes, kDimensions);
  for (const char* member : kDimensionMembers) all[member] = Hdf5Member(metadata.attributes, member);
  return all;
}

Status MergeDimensions(const zarr::ArrayMetadata& base, const zarr::ArrayMetadata& ours,
                       const zarr::ArrayMetadata& theirs, zarr::ArrayMetadata* merged) {
  const Versions versions{DimensionsOf(base), DimensionsOf(ours), DimensionsOf(theirs)};
  H5ZARR_ASSIGN_OR_RETURN(const bool is_ours, IsOurs(versions, "what the dimensions are called and have attached"));
  const zarr::ArrayMetadata& chosen = is_ours ? ours : theirs;
  merged->dimension_names = chosen.dimension_names;
  for (const char* member : kDimensionMembers) {
    SetHdf5Member(&merged->attributes, member, Hdf5Member(chosen.attributes, member));
  }
  const Json names = MemberOf(chosen.attributes, kDimensions);
  if (names.is_null()) {
    merged->attributes.erase(kDimensions);
  } else {
    merged->attributes[kDimensions] = names;
  }
  return OkStatus();
}

Status MergeArray(const zarr::ArrayMetadata& base, const zarr::ArrayMetadata& ours, const zarr::ArrayMetadata& theirs,
                  zarr::ArrayMetadata* merged) {
  const Versions shapes{Json(base.shape), Json(ours.shape), Json(theirs.shape)};
  H5ZARR_ASSIGN_OR_RETURN(const bool is_ours, IsOurs(shapes, "shape"));
  if (!is_ours) merged->shape = theirs.shape;
  merged->document = theirs.document;
  return MergeDimensions(base, ours, theirs, merged);
}

Status CheckSameNode(const zarr::Node& base, const zarr::Node& theirs) {
  std::optional<std::string> difference;
  if (base.is_array() && theirs.is_array()) {
    difference = zarr::DifferenceOfElements(base.array(), theirs.array());
  } else if (base.is_array() != theirs.is_array()) {
    difference = theirs.is_array() ? "an array now" : "a group now";
  }
  const auto differs = [&](const char* member) {
    return !Same(Hdf5Member(base.attributes(), member), Hdf5Member(theirs.attributes(), member));
  };
  if (Hdf5Member(base.attributes(), "virtual").is_null() != Hdf5Member(theirs.attributes(), "virtual").is_null() ||
      std::any_of(kIdentityMembers.begin(), kIdentityMembers.end(), differs)) {
    difference = "of another kind or type";
  }
  if (!difference) return OkStatus();
  return ChangedError("the object was replaced by another one while it was open (" + *difference +
                      "): what was changed here is not stored");
}

}  // namespace

Result<zarr::Node> MergeDocuments(const zarr::Node* base, const zarr::Node& ours, const zarr::Node& theirs) {
  zarr::Node nothing;
  if (base == nullptr) {
    nothing.metadata = zarr::GroupMetadata{zarr::FormatOf(ours), Json::object(), {}, false};
    const bool are_groups =
        !ours.is_array() && CheckSameNode(nothing, ours).ok() && CheckSameNode(nothing, theirs).ok();
    if (!are_groups) {
      return AlreadyExistsError("another program has made an object '" + ours.path +
                                "' meanwhile: it is not overwritten, and what was made here is not stored");
    }
    base = &nothing;
  }
  H5ZARR_RETURN_IF_ERROR(CheckSameNode(*base, theirs));
  zarr::Node merged = ours;
  merged.as_stored.reset();
  Json& attributes = merged.attributes();
  attributes = theirs.attributes();
  const Documents documents{base->attributes(), ours.attributes(), theirs.attributes()};
  for (const bool escaped : {false, true}) {
    H5ZARR_RETURN_IF_ERROR(MergeAttributes(documents, escaped, ours.is_array(), &attributes));
  }
  H5ZARR_RETURN_IF_ERROR(MergeHdf5(documents, &attributes));
  H5ZARR_ASSIGN_OR_RETURN(Json links, MergeList(MemberOf(documents.base, kLinks), MemberOf(documents.ours, kLinks),
                                                MemberOf(documents.theirs, kLinks), "link"));
  if (links.is_null()) {
    attributes.erase(kLinks);
  } else {
    attributes[kLinks] = std::move(links);
  }
  if (ours.is_array()) {
    H5ZARR_RETURN_IF_ERROR(
        MergeArray(base->array(), ours.array(), theirs.array(), &std::get<zarr::ArrayMetadata>(merged.metadata)));
  } else {
    std::get<zarr::GroupMetadata>(merged.metadata).document = theirs.group().document;
  }
  return merged;
}

}  // namespace h5zarr::shadow
