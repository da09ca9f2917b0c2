#include "shadow/conventions.h"

#include <algorithm>

#include "shadow/h5_types.h"
#include "shadow/json_text.h"
#include "shadow/user_links.h"
#include "store/url.h"

namespace h5zarr::shadow {
namespace {

std::string TextMember(const Json& object, const char* name, const char* otherwise) {
  const auto found = object.find(name);
  if (found == object.end()) return otherwise;
  return found->is_string() ? found->get<std::string>() : std::string();
}

const Json& Null() {
  static const Json* const null = new Json();  // leaked: HDF5 closes files in its exit handler
  return *null;
}

const Json& MemberOrNull(const Json& object, std::string_view name) {
  const Json* found = zarr::FindMember(object, name);
  return found != nullptr ? *found : Null();
}

// The HDF5 type of a compound's member, by numpy's name for it and a value.
Result<Json> MemberType(const std::string& numpy_name, const Json& value) {
  const bool is_text = numpy_name == "object" || numpy_name == "str" || numpy_name.find('U') != std::string::npos ||
                       (numpy_name == "<REFERENCE>" && value.is_string());
  // (LINDI tags texts as references, too.)
  if (is_text) return TypeToJson(MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8).get());
  if (numpy_name == "<REFERENCE>") return Json("H5T_STD_REF_OBJ");
  ElementMap map;
  Result<DType> dtype = zarr::ParseDTypeV3(numpy_name);
  if (!dtype.ok()) dtype = zarr::ParseDTypeV2(numpy_name);
  if (!dtype.ok()) return dtype.status();
  map.dtype = std::move(*dtype);
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, ReportedType(map));
  return TypeToJson(type.get());
}

Result<Json> CompoundType(const Json& members, const Json& first) {
  Json fields = Json::array();
  uint64_t offset = 0;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Json& member = members[i];
    const bool fits = member.is_array() && member.size() == 2 && member[0].is_string() && member[1].is_string();
    if (!fits) return CorruptError("_COMPOUND_DTYPE has " + zarr::BriefJson(member));
    const bool has_value = first.is_array() && i < first.size();
    H5ZARR_ASSIGN_OR_RETURN(Json type, MemberType(member[1].get<std::string>(), has_value ? first[i] : Null()));
    H5ZARR_ASSIGN_OR_RETURN(const Handle handle, TypeFromJson(type));
    fields.push_back({{"name", member[0]}, {"type", std::move(type)}, {"offset", offset}});
    offset += H5Tget_size(handle.get());
  }
  return Json{{"class", "H5T_COMPOUND"}, {"size", offset}, {"fields", std::move(fields)}};
}

}  // namespace

bool IsHiddenAttribute(std::string_view name) {
  if (name.starts_with('\0')) return true;
  static constexpr std::string_view kHidden[] = {
      "_hdf5", "zarr_conventions", "_ARRAY_DIMENSIONS",
      // hdmf-zarr's
      "_LINKS", "_DTYPE", "_REFERENCE_FIELDS", "zarr_link", "zarr_dtype",
      // LINDI's
      "_SCALAR", "_SOFT_LINK", "_COMPOUND_DTYPE", "_EXTERNAL_ARRAY_LINK",
      // NCZarr's
      "_nczarr_superblock", "_nczarr_group", "_nczarr_array", "_nczarr_attr", "_nczarr_attrs", "_nczarr_maxstrlen",
      "_nczarr_default_maxstrlen", "_NCZARR_SUPERBLOCK", "_NCZARR_GROUP", "_NCZARR_ARRAY", "_NCZARR_ATTR",
      // netCDF-4's bookkeeping, which is of no use to readers of Zarr
      "_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties"};
  return std::find(std::begin(kHidden), std::end(kHidden), name) != std::end(kHidden);
}

bool IsScalarByConvention(const zarr::ArrayMetadata& metadata) {
  const Json& attributes = metadata.attributes;
  if (metadata.shape != std::vector<uint64_t>{1} || attributes.contains("_hdf5")) return false;
  const Json& nczarr = MemberOrNull(MemberOrNull(attributes, "_nczarr_array"), "scalar");
  return MemberOrNull(attributes, "_SCALAR") == true || MemberOrNull(attributes, "zarr_dtype") == "scalar" ||
         nczarr == 1 || nczarr == true || MemberOrNull(attributes, "_ARRAY_DIMENSIONS") == Json::array({"_scalar_"});
}

bool NamesAreLabels(const Json& attributes) {
  return attributes.contains("zarr_dtype") && !attributes.contains("_hdf5");
}

namespace {

// No link has another name: what does not have the form is none; the rest of the group is not its
// prisoner.
bool CanNameLink(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.find('\0') == std::string::npos && name != "." &&
         name != "..";
}

void AddUserLinks(const Json& attributes, std::vector<StoredLink>* links) {
  const Json& entries = MemberOrNull(MemberOrNull(attributes, "_hdf5"), "user_links");
  if (!entries.is_array()) return;
  for (const Json& entry : entries) {
    StoredLink link;
    link.name = TextMember(entry, "name", "");
    link.kind = "user";
    const std::optional<uint64_t> link_class = zarr::UnsignedMember(entry, "class");
    const std::optional<std::string> value = TextFromJson(MemberOrNull(entry, "value"));
    if (!CanNameLink(link.name) || !link_class || *link_class > H5L_TYPE_MAX || !value) continue;
    link.link_class = static_cast<int>(*link_class);
    link.value = *value;
    if (IsUserClass(link.link_class)) links->push_back(std::move(link));
  }
}

}  // namespace

std::vector<StoredLink> StoredLinks(const Json& attributes) {
  std::vector<StoredLink> links;
  for (const char* holder : {"_LINKS", "zarr_link"}) {
    const Json& entries = MemberOrNull(attributes, holder);
    if (!entries.is_array()) continue;
    for (const Json& entry : entries) {
      if (!entry.is_object()) continue;
      StoredLink link{TextMember(entry, "name", ""),
                      TextMember(entry, "source", "."),
                      TextMember(entry, "path", ""),
                      TextMember(entry, "kind", "soft"),
                      0,
                      ""};
      if (CanNameLink(link.name) && !link.source.empty() && !link.path.empty() && !link.kind.empty()) {
        links.push_back(std::move(link));
      }
    }
  }
  AddUserLinks(attributes, &links);
  return links;
}

std::optional<std::string> SoftLinkStub(const Json& attributes) {
  const Json& path = MemberOrNull(MemberOrNull(attributes, "_SOFT_LINK"), "path");
  if (!path.is_string() || path.get_ref<const std::string&>().empty()) return std::nullopt;
  return path.get<std::string>();
}

std::optional<ExternalArray> ExternalArrayLink(const Json& attributes) {
  const Json& link = MemberOrNull(attributes, "_EXTERNAL_ARRAY_LINK");
  if (!link.is_object()) return std::nullopt;
  ExternalArray array{TextMember(link, "url", ""), TextMember(link, "name", ""), std::nullopt};
  constexpr std::string_view kFile = "file://";
  const bool is_hdf5 = TextMember(link, "link_type", "") == "hdf5_dataset";
  if (!is_hdf5 || array.url.empty() || array.name.empty()) return array;
  if (array.url.starts_with(kFile)) {
    array.file = array.url.substr(kFile.size());
  } else if (array.url.find("://") == std::string::npos || IsRemoteName(array.url)) {
    array.file = array.url;
  }
  return array;
}

Json WithPlainReferences(std::string_view name, const Json& value) {
  const auto plain = [](const Json& target) {
    Json json = Json::object();
    json["_REFERENCE"] = target;
    return json;
  };
  if (name == ".specloc" && value.is_string()) return plain({{"source", "."}, {"path", value}});
  const Json& held = MemberOrNull(value, "value");
  if (held.is_null() || MemberOrNull(value, "zarr_dtype") != "object") return value;
  if (!held.is_array()) return plain(held);
  Json list = Json::array();
  for (const Json& target : held) list.push_back(plain(target));
  return list;
}

bool MayHoldObjects(const zarr::ArrayMetadata& metadata) {
  return metadata.dtype.kind == DType::Kind::kString && !metadata.attributes.contains("_hdf5") &&
         std::any_of(metadata.codecs.begin(), metadata.codecs.end(),
                     [](const zarr::CodecSpec& codec) { return codec.name == "json2"; });
}

Result<std::optional<ElementMap>> ObjectElements(const zarr::ArrayMetadata& metadata, const Json& first) {
  ElementMap map;
  map.form = ElementMap::Form::kJsonElement;
  map.dtype = metadata.dtype;
  map.read_only = true;
  const Json& members = MemberOrNull(metadata.attributes, "_COMPOUND_DTYPE");
  if (members.is_array() && !members.empty()) {
    H5ZARR_ASSIGN_OR_RETURN(map.hdf5_type, CompoundType(members, first));
  } else if (first.is_object() && first.contains("_REFERENCE")) {
    map.form = ElementMap::Form::kObjectReference;
    map.hdf5_type = "H5T_STD_REF_OBJ";
  } else {
    return std::optional<ElementMap>();
  }
  return std::optional<ElementMap>(std::move(map));
}

}  // namespace h5zarr::shadow
