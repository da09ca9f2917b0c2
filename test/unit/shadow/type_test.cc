// Datatypes: HDF5 ↔ Zarr ↔ JSON.
#include <cstring>

#include "catch.h"
#include "shadow/h5_types.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

using Form = ElementMap::Form;
using Kind = DType::Kind;

Json JsonOf(hid_t type) {
  const Result<Json> json = TypeToJson(type);
  INFO(json.status().message());
  REQUIRE(json.ok());
  return json.value();
}

ElementMap Mapped(hid_t type, int zarr_format = 3) {
  Result<ElementMap> map = MapToZarr(type, zarr_format);
  INFO(map.status().message());
  REQUIRE(map.ok());
  return std::move(map).value();
}

Handle Value(Result<Handle> result) {
  INFO(result.status().message());
  REQUIRE(result.ok());
  REQUIRE(result.value().valid());
  return std::move(result).value();
}

// What a program gets back when the array is opened again, after the type went through text.
Handle Reopened(const ElementMap& map) {
  std::vector<uint64_t> shape = {5};
  shape.insert(shape.end(), map.elem_dims.begin(), map.elem_dims.end());
  Json hdf5_type;
  if (!map.hdf5_type.is_null()) {
    const auto parsed = zarr::ParseJson(zarr::DumpJson(map.hdf5_type), "type");
    REQUIRE(parsed.ok());
    hdf5_type = parsed.value();
  }
  const Result<ElementMap> opened = MapFromZarr(map.dtype, shape, hdf5_type);
  INFO(opened.status().message());
  REQUIRE(opened.ok());
  CHECK(opened.value().form == map.form);
  CHECK(opened.value().elem_dims == map.elem_dims);
  return Value(ReportedType(opened.value()));
}

Handle Compound(std::vector<std::pair<const char*, hid_t>> members, std::size_t padding = 0) {
  std::size_t size_bytes = padding;
  for (const auto& [name, type] : members) size_bytes += H5Tget_size(type);
  Handle compound(H5Tcreate(H5T_COMPOUND, size_bytes));
  std::size_t offset = padding;
  for (const auto& [name, type] : members) {
    REQUIRE(H5Tinsert(compound.get(), name, offset, type) >= 0);
    offset += H5Tget_size(type);
  }
  return compound;
}

Handle Array(hid_t base, std::vector<hsize_t> dims) {
  return Handle(H5Tarray_create2(base, static_cast<unsigned>(dims.size()), dims.data()));
}

Handle Opaque(std::size_t size_bytes, const char* tag) {
  Handle type(H5Tcreate(H5T_OPAQUE, size_bytes));
  REQUIRE(H5Tset_tag(type.get(), tag) >= 0);
  return type;
}

Handle Colors(hid_t base, uint64_t value_bytes) {
  Handle type(H5Tenum_create(base));
  const char* names[] = {"RED", "GREEN"};
  for (int i = 0; i < 2; ++i) {
    unsigned char value[8] = {};
    const bool big = H5Tget_order(base) == H5T_ORDER_BE;
    value[big ? value_bytes - 1 : 0] = static_cast<unsigned char>(i + 3);
    REQUIRE(H5Tenum_insert(type.get(), names[i], value) >= 0);
  }
  return type;
}

TEST_CASE("made types equal HDF5's predefined ones") {
  CHECK(H5Tequal(MakeInteger(4, true, Endian::kLittle).get(), H5T_STD_I32LE) > 0);
  CHECK(H5Tequal(MakeInteger(8, false, Endian::kBig).get(), H5T_STD_U64BE) > 0);
  CHECK(H5Tequal(MakeInteger(1, true, Endian::kLittle).get(), H5T_STD_I8LE) > 0);
  CHECK(H5Tequal(MakeFloat(2, "", Endian::kLittle).get(), H5T_IEEE_F16LE) > 0);
  CHECK(H5Tequal(MakeFloat(4, "", Endian::kBig).get(), H5T_IEEE_F32BE) > 0);
  CHECK(H5Tequal(MakeFloat(8, "", Endian::kLittle).get(), H5T_IEEE_F64LE) > 0);
  CHECK(H5Tequal(MakeBitfield(2, Endian::kBig).get(), H5T_STD_B16BE) > 0);
}

TEST_CASE("numbers of both byte orders need no description") {
  for (const hid_t type : {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32BE, H5T_STD_I64LE, H5T_STD_U8LE, H5T_STD_U16BE,
                           H5T_STD_U32LE, H5T_STD_U64BE, H5T_IEEE_F16LE, H5T_IEEE_F32BE, H5T_IEEE_F64LE}) {
    const ElementMap map = Mapped(type);
    INFO(JsonOf(type).dump());
    CHECK(map.form == Form::kPlain);
    CHECK(map.hdf5_type.is_null());
    CHECK(map.stored_bytes() == H5Tget_size(type));
    CHECK(H5Tequal(Reopened(map).get(), type) > 0);
    CHECK(H5Tequal(Value(StoredType(map)).get(), type) > 0);
  }
}

TEST_CASE("a big-endian integer is stored big-endian") {
  const ElementMap map = Mapped(H5T_STD_I32BE);
  CHECK(map.dtype == DType::Int(4, Endian::kBig));
}

TEST_CASE("h5py's boolean is Zarr's bool") {
  const Handle type = MakeBoolType();
  const ElementMap map = Mapped(type.get());
  CHECK(map.dtype == DType::Bool());
  CHECK(map.hdf5_type.is_null());
  CHECK(IsBoolType(Reopened(map).get()));
}

TEST_CASE("an enumeration keeps its names and order") {
  const Handle type = Colors(H5T_STD_I16BE, 2);
  const ElementMap map = Mapped(type.get());
  CHECK(map.dtype == DType::Int(2, Endian::kBig));
  CHECK(map.hdf5_type["mapping"]["GREEN"] == 4);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
  CHECK(H5Tequal(Value(StoredType(map)).get(), type.get()) > 0);
}

TEST_CASE("a compound of r and i is complex") {
  for (const hid_t part : {H5T_IEEE_F32LE, H5T_IEEE_F64BE}) {
    const Handle type = Compound({{"r", part}, {"i", part}});
    const ElementMap map = Mapped(type.get());
    CHECK(map.dtype.kind == Kind::kComplex);
    CHECK(map.dtype.item_bytes == 2 * H5Tget_size(part));
    CHECK(map.hdf5_type.is_null());
    CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
  }
}

TEST_CASE("a compound of half floats r and i is a struct") {
  const Handle type = Compound({{"r", H5T_IEEE_F16LE}, {"i", H5T_IEEE_F16LE}});
  CHECK(Mapped(type.get()).dtype.kind == Kind::kStruct);
}

TEST_CASE("a packed little-endian compound needs no description") {
  const Handle type = Compound({{"a", H5T_STD_I32LE}, {"b", H5T_IEEE_F64LE}});
  const ElementMap map = Mapped(type.get());
  CHECK(map.hdf5_type.is_null());
  REQUIRE(map.dtype.fields.size() == 2);
  CHECK(map.dtype.fields[1].offset_bytes == 4);
  CHECK(map.dtype.item_bytes == 12);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
}

TEST_CASE("a padded big-endian compound is stored packed and little-endian") {
  const Handle inner = Compound({{"x", H5T_STD_U16BE}, {"c", H5T_IEEE_F32BE}});
  const Handle array = Array(H5T_STD_I16BE, {3});
  const Handle type = Compound({{"n", inner.get()}, {"v", array.get()}, {"b", H5T_STD_I64BE}}, 5);
  for (const int zarr_format : {2, 3}) {
    const ElementMap map = Mapped(type.get(), zarr_format);
    CHECK(map.dtype.item_bytes == 6 + 6 + 8);
    CHECK(map.dtype.fields.size() == (zarr_format == 2 ? 3u : 5u));
    CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
    const Handle stored = Value(StoredType(map));
    CHECK(H5Tget_size(stored.get()) == 20);
    CHECK(H5Tget_member_offset(stored.get(), 2) == 12);
    CHECK(H5Tequal(Handle(H5Tget_member_type(stored.get(), 2)).get(), H5T_STD_I64LE) > 0);
    // HDF5 converts a program's elements to these bytes.
    unsigned char bytes[32] = {};
    bytes[5 + 6 + 6 + 7] = 9;
    unsigned char background[32] = {};
    REQUIRE(H5Tconvert(type.get(), stored.get(), 1, bytes, background, H5P_DEFAULT) >= 0);
    CHECK(bytes[12] == 9);
  }
}

TEST_CASE("fields of one name are told apart in Zarr") {
  const Handle array = Array(H5T_STD_I16LE, {2});
  const Handle type = Compound({{"v", array.get()}, {"v[0]", H5T_STD_I8LE}});
  const ElementMap map = Mapped(type.get());
  REQUIRE(map.dtype.fields.size() == 3);
  CHECK(map.dtype.fields[0].name != map.dtype.fields[2].name);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
}

TEST_CASE("v3 says every compound of fixed members") {
  const Handle opaque = Opaque(3, "");
  const Handle text = MakeFixedString(4, H5T_STR_SPACEPAD, H5T_CSET_UTF8);
  const Handle array = Array(text.get(), {2});
  const Handle big_array = Array(H5T_STD_U8LE, {1000});
  const Handle boolean = MakeBoolType();
  const Handle type = Compound({{"o", opaque.get()},
                                {"t", array.get()},
                                {"l", H5T_NATIVE_LDOUBLE},
                                {"b", boolean.get()},
                                {"big", big_array.get()},
                                {"bits", H5T_STD_B16LE}});
  const ElementMap map = Mapped(type.get());
  const Result<Json> data_type = zarr::FormatDTypeV3(map.dtype);
  INFO(data_type.status().message());
  REQUIRE(data_type.ok());
  const Result<DType> parsed = zarr::ParseDTypeV3(data_type.value());
  REQUIRE(parsed.ok());
  CHECK(parsed.value() == map.dtype);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
}

TEST_CASE("fixed strings are described unless NUL-padded ASCII") {
  for (const H5T_str_t pad : {H5T_STR_NULLPAD, H5T_STR_NULLTERM, H5T_STR_SPACEPAD}) {
    for (const H5T_cset_t cset : {H5T_CSET_ASCII, H5T_CSET_UTF8}) {
      const Handle type = MakeFixedString(7, pad, cset);
      const ElementMap map = Mapped(type.get());
      CHECK(map.dtype == DType::Bytes(7));
      CHECK(map.hdf5_type.is_null() == (pad == H5T_STR_NULLPAD && cset == H5T_CSET_ASCII));
      CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
    }
  }
}

TEST_CASE("variable strings are described unless UTF-8") {
  const Handle utf8 = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  CHECK(Mapped(utf8.get()).form == Form::kVlenString);
  CHECK(Mapped(utf8.get()).hdf5_type.is_null());
  const Handle ascii = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_ASCII);
  const ElementMap map = Mapped(ascii.get());
  CHECK(map.dtype == DType::String());
  CHECK(H5Tget_cset(Reopened(map).get()) == H5T_CSET_ASCII);
}

TEST_CASE("an opaque type keeps its tag") {
  CHECK(Mapped(Opaque(5, "").get()).hdf5_type.is_null());
  const Handle tagged = Opaque(5, "PNG");
  const ElementMap map = Mapped(tagged.get());
  CHECK(map.dtype == DType::Raw(5));
  CHECK(H5Tequal(Reopened(map).get(), tagged.get()) > 0);
}

TEST_CASE("h5py's opaque datetimes are Zarr's") {
  const Handle type = Opaque(8, "NUMPY:<M8[25us]");
  const ElementMap map = Mapped(type.get());
  CHECK(map.dtype.kind == Kind::kDatetime);
  CHECK(map.dtype.unit == "us");
  CHECK(map.dtype.scale_factor == 25);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
  CHECK(Mapped(Opaque(8, "NUMPY:>m8[ns]").get()).dtype.kind == Kind::kTimedelta);
  CHECK(Mapped(Opaque(8, "NUMPY:<M8[parsec]").get()).dtype.kind == Kind::kRaw);
  CHECK(Mapped(Opaque(8, "NUMPY:<M8[").get()).dtype.kind == Kind::kRaw);
}

TEST_CASE("array types become trailing dimensions") {
  const Handle inner = Array(H5T_STD_I16BE, {2, 3});
  const Handle type = Array(inner.get(), {4});
  const ElementMap map = Mapped(type.get());
  CHECK(map.dtype == DType::Int(2, Endian::kBig));
  CHECK(map.elem_dims == std::vector<uint64_t>{4, 2, 3});
  CHECK(map.stored_bytes() == 48);
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
  CHECK(H5Tget_size(Value(StoredType(map)).get()) == 48);
}

TEST_CASE("types that Zarr has no name for are bytes") {
  const ElementMap map = Mapped(H5T_NATIVE_LDOUBLE);
  CHECK(map.dtype == DType::Uint(1));
  CHECK(map.elem_dims == std::vector<uint64_t>{sizeof(long double)});
  CHECK(H5Tequal(Reopened(map).get(), H5T_NATIVE_LDOUBLE) > 0);
  CHECK(H5Tequal(Value(StoredType(map)).get(), H5T_NATIVE_LDOUBLE) > 0);
}

TEST_CASE("bfloat16 is Zarr's in v3 and bytes in v2") {
  const Handle type = MakeFloat(2, "bfloat16", Endian::kLittle);
  CHECK(Mapped(type.get(), 3).dtype.format == "bfloat16");
  CHECK(Mapped(type.get(), 3).hdf5_type.is_null());
  const ElementMap v2 = Mapped(type.get(), 2);
  CHECK(v2.elem_dims == std::vector<uint64_t>{2});
  CHECK(H5Tequal(Reopened(v2).get(), type.get()) > 0);
}

TEST_CASE("odd integers are stored in the next core integer") {
  Handle type(H5Tcopy(H5T_STD_I32LE));
  REQUIRE(H5Tset_precision(type.get(), 12) >= 0);
  REQUIRE(H5Tset_offset(type.get(), 3) >= 0);
  const ElementMap map = Mapped(type.get());
  CHECK(map.dtype == DType::Int(2));
  CHECK(H5Tequal(Reopened(map).get(), type.get()) > 0);
  CHECK(H5Tequal(Value(StoredType(map)).get(), H5T_STD_I16LE) > 0);

  Handle three(H5Tcopy(H5T_STD_U32BE));
  REQUIRE(H5Tset_precision(three.get(), 20) >= 0);
  REQUIRE(H5Tset_size(three.get(), 3) >= 0);
  CHECK(Mapped(three.get()).dtype == DType::Uint(4, Endian::kBig));
  CHECK(H5Tequal(Reopened(Mapped(three.get())).get(), three.get()) > 0);
}

TEST_CASE("bitfields and times are integers with a description") {
  CHECK(Mapped(H5T_STD_B32BE).dtype == DType::Uint(4, Endian::kBig));
  CHECK(H5Tequal(Reopened(Mapped(H5T_STD_B32BE)).get(), H5T_STD_B32BE) > 0);
  CHECK(Mapped(H5T_UNIX_D64LE).dtype == DType::Int(8));
  CHECK(H5Tequal(Reopened(Mapped(H5T_UNIX_D64LE)).get(), H5T_UNIX_D64LE) > 0);
}

TEST_CASE("sequences of fixed items are bytes of little-endian items") {
  const Handle bytes(H5Tvlen_create(H5T_STD_U8LE));
  CHECK(Mapped(bytes.get()).hdf5_type.is_null());
  const Handle type(H5Tvlen_create(H5T_IEEE_F32BE));
  const ElementMap map = Mapped(type.get());
  CHECK(map.form == Form::kVlenSequence);
  CHECK(map.dtype == DType::VlenBytes());
  CHECK(JsonOf(Reopened(map).get()) == JsonOf(type.get()));
  CHECK(H5Tequal(Value(StoredItemType(map)).get(), H5T_IEEE_F32LE) > 0);
}

TEST_CASE("object references are text") {
  const ElementMap map = Mapped(H5T_STD_REF_OBJ);
  CHECK(map.form == Form::kObjectReference);
  CHECK(map.dtype == DType::String());
  CHECK(IsObjectReference(Reopened(map).get()));
}

TEST_CASE("elements that hold variable parts are JSON texts") {
  const Handle text = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const Handle compound = Compound({{"name", text.get()}, {"to", H5T_STD_REF_OBJ}});
  const Handle nested(H5Tvlen_create(compound.get()));
  const Handle array = Array(text.get(), {2});
  for (const hid_t type : {compound.get(), nested.get(), array.get()}) {
    const ElementMap map = Mapped(type);
    CHECK(map.form == Form::kJsonElement);
    CHECK(map.dtype == DType::String());
    CHECK(JsonOf(Reopened(map).get()) == JsonOf(type));
  }
}

TEST_CASE("region references and those of HDF5 1.12 are JSON texts") {
  for (const hid_t type : {hid_t{H5T_STD_REF_DSETREG}, hid_t{H5T_STD_REF}}) {
    const ElementMap map = Mapped(type);
    CHECK(map.form == Form::kJsonElement);
    CHECK(map.dtype == DType::String());
    CHECK(JsonOf(Reopened(map).get()) == JsonOf(type));
  }
}

TEST_CASE("foreign types have a form in HDF5") {
  const std::vector<uint64_t> shape = {3};
  const auto shown = [&](const DType& dtype) {
    const Result<ElementMap> map = MapFromZarr(dtype, shape, Json());
    INFO(map.status().message());
    REQUIRE(map.ok());
    CHECK(H5Tget_size(Value(StoredType(map.value())).get()) > 0);
    return Value(ReportedType(map.value()));
  };
  DType datetime = DType::Int(8, Endian::kBig);
  datetime.kind = Kind::kDatetime;
  datetime.unit = "ns";
  CHECK(H5Tequal(shown(datetime).get(), H5T_STD_I64BE) > 0);
  const Handle text = shown(DType::Utf32(5, Endian::kBig));
  CHECK(H5Tget_size(text.get()) == 20);
  CHECK(H5Tget_cset(text.get()) == H5T_CSET_UTF8);
  CHECK(H5Tget_strpad(text.get()) == H5T_STR_NULLPAD);
  CHECK(H5Tget_class(shown(DType::Raw(3)).get()) == H5T_OPAQUE);
  CHECK(H5Tget_nmembers(shown(DType::Complex(4)).get()) == 2);
  DType e5m2 = DType::Float(1);
  e5m2.format = "float8_e5m2";
  CHECK(H5Tget_class(shown(e5m2).get()) == H5T_FLOAT);
}

TEST_CASE("a foreign struct shows its stored bytes, with texts as UTF-8") {
  DType inner = DType::Int(2, Endian::kBig);
  DType type;
  type.kind = Kind::kStruct;
  type.item_bytes = 6 + 2 * 8;
  type.fields = {{"v", 0, {3}, inner}, {"t", 6, {2}, DType::Utf32(2)}};
  const Result<ElementMap> map = MapFromZarr(type, {3}, Json());
  REQUIRE(map.ok());
  CHECK(map.value().form == Form::kUtf32);
  const Handle stored = Value(StoredType(map.value()));
  CHECK(H5Tget_size(stored.get()) == 22);
  CHECK(H5Tget_member_offset(stored.get(), 1) == 6);
  const std::vector<Utf32Part> parts = Utf32Parts(type);
  REQUIRE(parts.size() == 1);
  CHECK(parts[0].offset_bytes == 6);
  CHECK(parts[0].texts == 2);
  CHECK(parts[0].text_bytes == 8);
}

TEST_CASE("floats that HDF5 cannot describe are refused by name") {
  DType dtype = DType::Float(1);
  dtype.format = "float8_e8m0fnu";
  const Result<ElementMap> map = MapFromZarr(dtype, {3}, Json());
  REQUIRE(!map.ok());
  CHECK(map.status().code() == StatusCode::kUnsupported);
  CHECK(map.status().message().find("float8_e8m0fnu") != std::string::npos);
}

TEST_CASE("a description that contradicts the array is corrupt") {
  const Json array_json = JsonOf(Array(H5T_STD_I16LE, {2}).get());
  const auto code = [](const DType& dtype, std::vector<uint64_t> shape, const Json& type) {
    const Result<ElementMap> map = MapFromZarr(dtype, shape, type);
    return map.ok() ? StatusCode::kOk : map.status().code();
  };
  CHECK(code(DType::Int(2), {3, 2}, array_json) == StatusCode::kOk);
  CHECK(code(DType::Int(2), {3, 4}, array_json) == StatusCode::kCorrupt);
  CHECK(code(DType::Int(2), {}, array_json) == StatusCode::kCorrupt);
  CHECK(code(DType::Int(4), {3, 2}, array_json) == StatusCode::kCorrupt);
  CHECK(code(DType::String(), {3}, Json("H5T_STD_I32LE")) == StatusCode::kCorrupt);
  CHECK(code(DType::Int(4), {3}, Json("H5T_STD_REF_OBJ")) == StatusCode::kCorrupt);
}

TEST_CASE("an array rewritten in the other byte order stays readable") {
  const ElementMap map = Mapped(Colors(H5T_STD_I16BE, 2).get());
  const Result<ElementMap> opened = MapFromZarr(DType::Int(2), {3}, map.hdf5_type);
  REQUIRE(opened.ok());
  const Handle stored = Value(StoredType(opened.value()));
  CHECK(H5Tget_order(stored.get()) == H5T_ORDER_LE);
  CHECK(H5Tget_nmembers(stored.get()) == 2);
}

TEST_CASE("types are the same after JSON") {
  Handle padded(H5Tcopy(H5T_STD_I32LE));
  REQUIRE(H5Tset_precision(padded.get(), 20) >= 0);
  REQUIRE(H5Tset_pad(padded.get(), H5T_PAD_ONE, H5T_PAD_ZERO) >= 0);
  const Handle utf8 = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const Handle empty_tail = Compound({{"a", H5T_STD_I8LE}}, 3);
  const Handle names = Compound({{"caf\xc3\xa9", H5T_STD_I8LE}, {"bad\xff", H5T_STD_I8LE}});
  const Handle colors = Colors(H5T_STD_U64LE, 8);
  for (const hid_t type :
       {padded.get(), utf8.get(), empty_tail.get(), names.get(), colors.get(), hid_t{H5T_STD_REF_OBJ},
        hid_t{H5T_STD_REF_DSETREG}, hid_t{H5T_STD_REF}, hid_t{H5T_UNIX_D32BE}, hid_t{H5T_NATIVE_LDOUBLE},
        hid_t{H5T_NATIVE_B64}, hid_t{H5T_C_S1}, hid_t{H5T_VAX_F32}}) {
    const Json json = JsonOf(type);
    const auto parsed = zarr::ParseJson(zarr::DumpJson(json), "type");
    REQUIRE(parsed.ok());
    INFO(json.dump());
    const Handle again = Value(TypeFromJson(parsed.value()));
    CHECK(H5Tequal(again.get(), type) > 0);
    CHECK(JsonOf(again.get()) == json);
  }
}

TEST_CASE("JSON that is no type is corrupt, and nothing worse") {
  const char* const texts[] = {"null",
                               "1",
                               "\"H5T_STD_I128LE\"",
                               "{}",
                               "{\"class\":\"H5T_ENUM\"}",
                               "{\"class\":\"H5T_ENUM\",\"base\":\"H5T_IEEE_F32LE\",\"mapping\":{}}",
                               "{\"class\":\"H5T_ENUM\",\"base\":\"H5T_STD_I8LE\",\"mapping\":{\"a\":1,\"b\":1}}",
                               "{\"class\":\"H5T_STRING\",\"length\":0}",
                               "{\"class\":\"H5T_STRING\",\"length\":-1}",
                               "{\"class\":\"H5T_OPAQUE\",\"size\":99999999999,\"tag\":\"\"}",
                               "{\"class\":\"H5T_ARRAY\",\"base\":\"H5T_STD_I8LE\",\"dims\":[0]}",
                               "{\"class\":\"H5T_ARRAY\",\"base\":\"H5T_STD_I8LE\",\"dims\":[4000000000,4000000000]}",
                               "{\"class\":\"H5T_COMPOUND\",\"fields\":[]}",
                               "{\"class\":\"H5T_COMPOUND\",\"size\":1,\"fields\":[{\"name\":\"a\",\"type\":"
                               "\"H5T_STD_I32LE\"}]}",
                               "{\"class\":\"H5T_COMPOUND\",\"fields\":[{\"name\":\"a\",\"type\":\"H5T_STD_I32LE\","
                               "\"offset\":0},{\"name\":\"b\",\"type\":\"H5T_STD_I32LE\",\"offset\":2}]}",
                               "{\"class\":\"H5T_INTEGER\",\"base\":\"H5T_STD_I8LE\",\"precision\":9,\"offset\":0}",
                               "{\"class\":\"encoded\",\"base64\":\"AAAA\"}",
                               "{\"class\":\"encoded\",\"base64\":\"AwAWAAAAAAAAAAAAAAAAAAAA\"}",
                               "{\"class\":\"encoded\",\"base64\":\"AwARAAAA////////////////\"}"};
  for (const char* text : texts) {
    const auto json = zarr::ParseJson(text, "type");
    REQUIRE(json.ok());
    INFO(text);
    const Result<Handle> type = TypeFromJson(json.value());
    REQUIRE(!type.ok());
    CHECK(type.status().code() == StatusCode::kCorrupt);
  }
}

TEST_CASE("deep nesting of a type is refused") {
  Json json = "H5T_STD_I8LE";
  for (int i = 0; i < 100; ++i) {
    Json outer = Json::object();
    outer["class"] = "H5T_VLEN";
    outer["base"] = json;
    json = outer;
  }
  CHECK(!TypeFromJson(json).ok());
}

}  // namespace
}  // namespace h5zarr::shadow
