#include "shadow/fill_map.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "base/nd_copy.h"
#include "shadow/attribute_map.h"
#include "shadow/h5_types.h"
#include "shadow/json_text.h"

namespace h5zarr::shadow {
namespace {

using Form = ElementMap::Form;

// Fill values in `_hdf5` are written as v3 does, in stores of both formats.
constexpr int kKeptFillFormat = 3;
// What HDF5 puts into the header of a dataset, of a fill value.
constexpr uint64_t kMaxHeaderFillBytes = 60 << 10;

// One value in memory form, with its variable-length parts.
class MemoryValue {
 public:
  explicit MemoryValue(Handle type) : type_(std::move(type)), bytes_(H5Tget_size(type_.get())) {}
  ~MemoryValue() {
    const Handle space(H5Screate(H5S_SCALAR));
    H5Treclaim(type_.get(), space.get(), H5P_DEFAULT, bytes_.data());
  }
  MemoryValue(const MemoryValue&) = delete;
  MemoryValue& operator=(const MemoryValue&) = delete;

  hid_t type() const { return type_.get(); }
  std::byte* data() { return bytes_.data(); }
  template <typename T>
  T As() const {
    T value;
    std::memcpy(&value, bytes_.data(), sizeof(T));
    return value;
  }

 private:
  Handle type_;
  std::vector<std::byte> bytes_;
};

// A fill value holds no reference: there is no object it could mean in every store.
const ReferenceResolver& NoReferences() {
  static const ReferenceResolver* const resolver = new ReferenceResolver;
  return *resolver;
}

bool IsTime(const DType& dtype) {
  return dtype.kind == DType::Kind::kDatetime || dtype.kind == DType::Kind::kTimedelta;
}

Status ReadFill(hid_t dcpl, MemoryValue* value) {
  if (H5Pget_fill_value(dcpl, value->type(), value->data()) < 0) {
    return InvalidArgumentError("the fill value has no conversion to the dataset's type");
  }
  return OkStatus();
}

std::vector<std::byte> BytesOf(std::string_view text) {
  const ByteSpan bytes = AsBytes(text);
  return {bytes.begin(), bytes.end()};
}

Result<std::vector<std::byte>> PlainFill(hid_t dcpl, const ElementMap& map) {
  H5ZARR_ASSIGN_OR_RETURN(Handle stored, StoredType(map));
  std::vector<std::byte> bytes(map.stored_bytes());
  if (H5Pget_fill_value(dcpl, stored.get(), bytes.data()) < 0) {
    return InvalidArgumentError("the fill value has no conversion to the dataset's type");
  }
  if (map.dtype.kind == DType::Kind::kBool) {
    for (std::byte& byte : bytes) byte = byte == std::byte{0} ? byte : std::byte{1};
  }
  if (IsAll(bytes, ByteSpan(bytes.data(), map.dtype.item_bytes))) bytes.resize(map.dtype.item_bytes);
  return bytes;
}

// A value for each element of an array, one behind the other, as a list.
Result<Json> BlockToJson(ByteSpan block, const DType& dtype) {
  Json list = Json::array();
  for (std::size_t at = 0; at < block.size(); at += dtype.item_bytes) {
    zarr::FillValue one{true, {}, {}};
    one.bytes.assign(block.begin() + static_cast<std::ptrdiff_t>(at),
                     block.begin() + static_cast<std::ptrdiff_t>(at + dtype.item_bytes));
    H5ZARR_ASSIGN_OR_RETURN(Json value, zarr::FormatFillValue(one, dtype, kKeptFillFormat));
    list.push_back(std::move(value));
  }
  return list;
}

Result<std::vector<std::byte>> BlockFromJson(const Json& list, const ElementMap& map) {
  const uint64_t items = map.stored_bytes() / map.dtype.item_bytes;
  if (map.form != Form::kPlain || !list.is_array() || list.size() != items) {
    return CorruptError("_hdf5.fill.elements: expected a list of " + std::to_string(items) + " values");
  }
  std::vector<std::byte> block;
  for (const Json& value : list) {
    H5ZARR_ASSIGN_OR_RETURN(const zarr::FillValue one, zarr::ParseFillValue(value, map.dtype, kKeptFillFormat));
    block.insert(block.end(), one.bytes.begin(), one.bytes.end());
  }
  return block;
}

Result<std::vector<std::byte>> StringFill(hid_t dcpl) {
  MemoryValue value(MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8));
  H5ZARR_RETURN_IF_ERROR(ReadFill(dcpl, &value));
  const char* text = value.As<char*>();
  if (text == nullptr) return std::vector<std::byte>();
  if (!IsValidUtf8(text)) return UnsupportedError("a fill value that is no UTF-8 text");
  return BytesOf(text);
}

Result<std::vector<std::byte>> SequenceFill(hid_t dcpl, const ElementMap& map) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle item, StoredItemType(map));
  MemoryValue value(Handle(H5Tvlen_create(item.get())));
  H5ZARR_RETURN_IF_ERROR(ReadFill(dcpl, &value));
  const auto sequence = value.As<hvl_t>();
  const auto* first = static_cast<const std::byte*>(sequence.p);
  if (first == nullptr) return std::vector<std::byte>();
  return std::vector<std::byte>(first, first + sequence.len * H5Tget_size(item.get()));
}

// References and elements kept as JSON: an all-zero value is the empty text, as absent ones are.
Result<std::vector<std::byte>> TextFill(hid_t dcpl, hid_t type, const ElementMap& map) {
  MemoryValue value(Handle(H5Tcopy(type)));
  H5ZARR_RETURN_IF_ERROR(ReadFill(dcpl, &value));
  const std::byte zero{0};
  if (IsAll(ByteSpan(value.data(), H5Tget_size(type)), ByteSpan(&zero, 1))) {
    return std::vector<std::byte>();
  }
  if (map.form == Form::kObjectReference) {
    return UnsupportedError("a fill value that is a reference has no form in Zarr");
  }
  H5ZARR_ASSIGN_OR_RETURN(const Json json, ElementToJson(type, value.data(), NoReferences()));
  return BytesOf(zarr::DumpJson(json, -1));
}

Result<std::vector<std::byte>> UserFill(hid_t dcpl, hid_t type, const ElementMap& map) {
  switch (map.form) {
    case Form::kPlain: return PlainFill(dcpl, map);
    case Form::kVlenString: return StringFill(dcpl);
    case Form::kVlenSequence: return SequenceFill(dcpl, map);
    case Form::kObjectReference:
    case Form::kJsonElement: return TextFill(dcpl, type, map);
    case Form::kUtf32: break;  // nothing HDF5 creates becomes UTF-32
  }
  return InternalError("fill value of a form that is not written");
}

Status SetFill(hid_t dcpl, hid_t type, const void* value) {
  if (H5Pset_fill_value(dcpl, type, value) < 0) return Hdf5Failure("a fill value");
  return OkStatus();
}

// `stored`: one element. It is set in the dataset's own type: where HDF5 has to convert a fill value, it
// sorts the members of that type.
Status SetCompoundFill(std::vector<std::byte> stored, const ElementMap& map, hid_t dcpl) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle from, StoredType(map));
  H5ZARR_ASSIGN_OR_RETURN(const Handle to, ReportedType(map));
  H5ZARR_ASSIGN_OR_RETURN(const Handle own, ReportedType(map));
  std::vector<std::byte> background(H5Tget_size(to.get()));
  stored.resize(std::max(stored.size(), background.size()));
  if (H5Tconvert(from.get(), to.get(), 1, stored.data(), background.data(), H5P_DEFAULT) < 0) {
    return Hdf5Failure("a fill value");
  }
  return SetFill(dcpl, own.get(), stored.data());
}

Status SetPlainFill(const zarr::FillValue& fill, const ElementMap& map, hid_t dcpl) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle stored, StoredType(map));
  // LINDI's scalars have a dimension of 1 that HDF5 does not show.
  const uint64_t size_bytes = H5Tget_size(stored.get());
  if (fill.bytes.size() % map.dtype.item_bytes != 0 || fill.bytes.empty() || size_bytes % fill.bytes.size() != 0) {
    return InternalError("a fill value of another size than the elements");
  }
  // HDF5's headers hold no larger ones; and zero, its default, need not be said.
  const bool is_zero =
      std::all_of(fill.bytes.begin(), fill.bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
  if (is_zero && size_bytes > kMaxHeaderFillBytes) return OkStatus();
  std::vector<std::byte> bytes(size_bytes);
  FillContiguous(bytes, fill.bytes);
  if (map.form == Form::kUtf32) {
    for (const Utf32Part& part : Utf32Parts(map.dtype)) {
      for (uint64_t i = 0; i < part.texts; ++i) {
        Utf32ToUtf8(MutableByteSpan(bytes).subspan(part.offset_bytes + i * part.text_bytes, part.text_bytes),
                    part.endian);
      }
    }
  }
  if (H5Tdetect_class(stored.get(), H5T_COMPOUND) > 0) return SetCompoundFill(bytes, map, dcpl);
  return SetFill(dcpl, stored.get(), bytes.data());
}

// A fill value that property lists do not hold is "undefined" there: HDF5 says nothing false, and
// asks nobody for it.
Status SetNoFill(const ElementMap& map, hid_t dcpl) {
  H5D_fill_time_t time = H5D_FILL_TIME_ERROR;
  if (H5Pget_fill_time(dcpl, &time) < 0) return Hdf5Failure("the fill time of a property list");
  if (time == H5D_FILL_TIME_ALLOC) return OkStatus();  // HDF5 then insists on one: its default
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, ReportedType(map));
  return SetFill(dcpl, type.get(), nullptr);
}

// `foreign`: of an array that HDF5 did not write. Its readers may ask for a fill value of text or numbers, but
// h5py frees a sequence that lies in the list itself.
Status SetSequenceFill(const zarr::FillValue& fill, const ElementMap& map, bool foreign, hid_t dcpl) {
  H5ZARR_ASSIGN_OR_RETURN(const Handle item, StoredItemType(map));
  const std::size_t item_bytes = H5Tget_size(item.get());
  if (fill.bytes.size() % item_bytes != 0) {
    return CorruptError("fill value of " + std::to_string(fill.bytes.size()) + " bytes for items of " +
                        std::to_string(item_bytes));
  }
  if (foreign) return SetNoFill(map, dcpl);
  std::vector<std::byte> items = fill.bytes;
  const hvl_t sequence{items.size() / item_bytes, items.data()};
  const Handle type(H5Tvlen_create(item.get()));
  return SetFill(dcpl, type.get(), &sequence);
}

Status SetTextFill(const zarr::FillValue& fill, const ElementMap& map, hid_t dcpl) {
  H5ZARR_ASSIGN_OR_RETURN(Handle type, ReportedType(map));
  H5ZARR_ASSIGN_OR_RETURN(const Json json, zarr::ParseJson(AsText(fill.bytes), "fill_value"));
  MemoryValue value(std::move(type));
  H5ZARR_RETURN_IF_ERROR(ElementFromJson(json, value.type(), value.data(), NoReferences()));
  return SetFill(dcpl, value.type(), value.data());
}

Status SetUserFill(const zarr::FillValue& fill, const ElementMap& map, bool foreign, hid_t dcpl) {
  if (map.form == Form::kPlain || map.form == Form::kUtf32) return SetPlainFill(fill, map, dcpl);
  // The empty text is HDF5's default for all that has variable length.
  if (fill.bytes.empty() || map.form == Form::kObjectReference) return OkStatus();
  if (map.form == Form::kVlenSequence) return SetSequenceFill(fill, map, foreign, dcpl);
  if (map.form == Form::kJsonElement) return SetTextFill(fill, map, dcpl);
  H5ZARR_ASSIGN_OR_RETURN(const Handle type, ReportedType(map));
  const std::string text(AsText(fill.bytes));
  if (text.find('\0') != std::string::npos) return SetNoFill(map, dcpl);  // it would be cut there
  const char* pointer = text.c_str();
  return SetFill(dcpl, type.get(), &pointer);
}

Status FillTimeToJson(hid_t dcpl, Json* hdf5) {
  H5D_fill_time_t time = H5D_FILL_TIME_ERROR;
  if (H5Pget_fill_time(dcpl, &time) < 0) return Hdf5Failure("the fill time of a property list");
  if (time == H5D_FILL_TIME_ALLOC) (*hdf5)["fill_time"] = "alloc";
  if (time == H5D_FILL_TIME_NEVER) (*hdf5)["fill_time"] = "never";
  return OkStatus();
}

Status FillTimeFromJson(const Json& hdf5, hid_t dcpl) {
  const std::string time = StringMember(hdf5, "fill_time").value_or("ifset");
  const H5D_fill_time_t fill_time = time == "alloc"   ? H5D_FILL_TIME_ALLOC
                                    : time == "never" ? H5D_FILL_TIME_NEVER
                                                      : H5D_FILL_TIME_IFSET;
  if (fill_time != H5D_FILL_TIME_IFSET && H5Pset_fill_time(dcpl, fill_time) < 0) {
    return Hdf5Failure("a fill time");
  }
  return OkStatus();
}

}  // namespace

Result<zarr::FillValue> FillFromDcpl(hid_t dcpl, hid_t type, const ElementMap& map, int zarr_format, Json* hdf5) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  H5D_fill_time_t time = H5D_FILL_TIME_ERROR;
  if (H5Pfill_value_defined(dcpl, &defined) < 0 || H5Pget_fill_time(dcpl, &time) < 0) {
    return Hdf5Failure("the fill value of a property list");
  }
  zarr::FillValue fill;
  if (!map.dtype.is_vlen()) fill.bytes.resize(map.dtype.item_bytes);
  const bool never = time == H5D_FILL_TIME_NEVER;
  // v2 says with null that there is none: of numbers that is zero, of times NaT.
  const bool always = zarr_format == 3 || IsTime(map.dtype);
  fill.defined = always || (defined == H5D_FILL_VALUE_USER_DEFINED && !never);
  if (defined == H5D_FILL_VALUE_USER_DEFINED) {
    H5ZARR_ASSIGN_OR_RETURN(fill.bytes, UserFill(dcpl, type, map));
    if (!map.dtype.is_vlen() && fill.bytes.size() > map.dtype.item_bytes) {
      H5ZARR_ASSIGN_OR_RETURN(Json elements, BlockToJson(fill.bytes, map.dtype));
      (*hdf5)["fill"] = {{"elements", std::move(elements)}};
      if (!never) fill.block = fill.bytes;
      fill.bytes.assign(map.dtype.item_bytes, std::byte{0});
      fill.defined = zarr_format == 3;
    } else if (never) {
      // HDF5 never fills with it, so no reader may: it is only kept.
      H5ZARR_ASSIGN_OR_RETURN(Json value, zarr::FormatFillValue(fill, map.dtype, kKeptFillFormat));
      (*hdf5)["fill"] = {{"value", std::move(value)}};
      fill.bytes.assign(map.dtype.is_vlen() ? 0 : map.dtype.item_bytes, std::byte{0});
    }
  } else if (defined == H5D_FILL_VALUE_UNDEFINED) {
    (*hdf5)["fill"] = "undefined";
  } else if (always) {
    (*hdf5)["fill"] = "default";
  }
  H5ZARR_RETURN_IF_ERROR(FillTimeToJson(dcpl, hdf5));
  return fill;
}

Status FillToDcpl(const zarr::FillValue& fill, const ElementMap& map, const Json& hdf5, hid_t dcpl) {
  H5ZARR_RETURN_IF_ERROR(FillTimeFromJson(hdf5, dcpl));
  const Json* kept = zarr::FindMember(hdf5, "fill");
  if (kept != nullptr && kept->is_object()) {
    if (const Json* elements = zarr::FindMember(*kept, "elements")) {
      zarr::FillValue user;
      H5ZARR_ASSIGN_OR_RETURN(user.bytes, BlockFromJson(*elements, map));
      return SetPlainFill(user, map, dcpl);
    }
    const Json* value = zarr::FindMember(*kept, "value");
    if (value == nullptr) return CorruptError("_hdf5.fill has no value");
    H5ZARR_ASSIGN_OR_RETURN(const zarr::FillValue user, zarr::ParseFillValue(*value, map.dtype, kKeptFillFormat));
    return SetUserFill(user, map, false, dcpl);
  }
  const std::string kind = StringMember(hdf5, "fill").value_or("user");
  if (kind == "undefined") {
    H5ZARR_ASSIGN_OR_RETURN(const Handle type, ReportedType(map));
    return SetFill(dcpl, type.get(), nullptr);
  }
  if (kind == "default" || map.read_only) return OkStatus();
  // (In v2 the times that nobody wrote are NaT, which is not HDF5's default.)
  if (!fill.defined && !IsTime(map.dtype)) return OkStatus();
  return SetUserFill(fill, map, hdf5.empty(), dcpl);
}

Result<std::vector<std::byte>> FillBlock(const ElementMap& map, const Json& hdf5) {
  const Json* kept = zarr::FindMember(hdf5, "fill");
  const Json* elements = kept != nullptr ? zarr::FindMember(*kept, "elements") : nullptr;
  if (elements == nullptr || StringMember(hdf5, "fill_time") == "never") {
    return std::vector<std::byte>();
  }
  return BlockFromJson(*elements, map);
}

Status FillToJson(hid_t dcpl, hid_t type, Json* hdf5) {
  H5D_fill_value_t defined = H5D_FILL_VALUE_ERROR;
  if (H5Pfill_value_defined(dcpl, &defined) < 0) {
    return Hdf5Failure("the fill value of a property list");
  }
  if (defined == H5D_FILL_VALUE_UNDEFINED) (*hdf5)["fill"] = "undefined";
  if (defined == H5D_FILL_VALUE_USER_DEFINED) {
    MemoryValue value(Handle(H5Tcopy(type)));
    H5ZARR_RETURN_IF_ERROR(ReadFill(dcpl, &value));
    H5ZARR_ASSIGN_OR_RETURN((*hdf5)["fill_value"], ElementToJson(type, value.data(), NoReferences()));
  }
  return FillTimeToJson(dcpl, hdf5);
}

Status FillFromJson(const Json& hdf5, hid_t type, hid_t dcpl) {
  H5ZARR_RETURN_IF_ERROR(FillTimeFromJson(hdf5, dcpl));
  if (StringMember(hdf5, "fill") == "undefined") return SetFill(dcpl, type, nullptr);
  const Json* json = zarr::FindMember(hdf5, "fill_value");
  if (json == nullptr) return OkStatus();
  MemoryValue value(Handle(H5Tcopy(type)));
  H5ZARR_RETURN_IF_ERROR(ElementFromJson(*json, value.type(), value.data(), NoReferences()));
  return SetFill(dcpl, value.type(), value.data());
}

}  // namespace h5zarr::shadow
