// Attribute values: HDF5 ↔ JSON.
#include <cmath>
#include <cstring>
#include <map>

#include "catch.h"
#include "shadow/attribute_map.h"
#include "shadow/h5_types.h"
#include "shadow/type_map.h"
#include "zarr/metadata.h"

namespace h5zarr::shadow {
namespace {

// References are numbers: "/7" is the object of reference 7.
ReferenceResolver FakeReferences() {
  return {[](const void* reference) {
            hobj_ref_t number;
            std::memcpy(&number, reference, sizeof(number));
            return "/" + std::to_string(number);
          },
          [](const std::string& path, void* reference) {
            if (path == "/gone") return false;
            const hobj_ref_t number = std::stoull(path.substr(1));
            std::memcpy(reference, &number, sizeof(number));
            return true;
          }};
}

Handle Space(std::vector<hsize_t> dims) {
  if (dims.empty()) return Handle(H5Screate(H5S_SCALAR));
  return Handle(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr));
}

AttributeValue Value(hid_t type, Handle space, const void* bytes) {
  const hssize_t elems = H5Sget_simple_extent_npoints(space.get());
  const std::size_t size_bytes = H5Tget_size(type) * static_cast<std::size_t>(elems);
  Result<Buffer> buffer = Buffer::CopyOf(ByteSpan(static_cast<const std::byte*>(bytes), size_bytes));
  REQUIRE(buffer.ok());
  return AttributeValue(Handle(H5Tcopy(type)), std::move(space), std::move(buffer).value());
}

template <typename T>
AttributeValue Values(hid_t type, std::vector<hsize_t> dims, std::vector<T> values) {
  return Value(type, Space(std::move(dims)), values.data());
}

AttributeJson ToJson(const AttributeValue& value) {
  Result<AttributeJson> json = AttributeToJson(value, FakeReferences());
  INFO(json.status().message());
  REQUIRE(json.ok());
  return std::move(json).value();
}

AttributeValue FromJson(const Json& value, const Json& description = Json()) {
  Result<AttributeValue> result = AttributeFromJson(value, description, FakeReferences());
  INFO(result.status().message());
  REQUIRE(result.ok());
  return std::move(result).value();
}

Json Parsed(const Json& json) {
  const auto parsed = zarr::ParseJson(zarr::DumpJson(json), "attributes");
  REQUIRE(parsed.ok());
  return parsed.value();
}

// Writes, reads back from text, and writes again; the bytes must be those of `value` for types
// without pointers.
AttributeValue RoundTrip(const AttributeValue& value) {
  const AttributeJson json = ToJson(value);
  INFO(json.value.dump());
  INFO(json.description.dump());
  AttributeValue again = FromJson(Parsed(json.value), Parsed(json.description));
  CHECK(TypeToJson(again.type()).value() == TypeToJson(value.type()).value());
  CHECK(H5Sextent_equal(again.space(), value.space()) > 0);
  const AttributeJson second = ToJson(again);
  CHECK(second.value == json.value);
  CHECK(second.description == json.description);
  if (!HoldsVlenOrReference(value.type())) {
    const std::size_t size_bytes =
        H5Tget_size(value.type()) * static_cast<std::size_t>(H5Sget_simple_extent_npoints(value.space()));
    CHECK((size_bytes == 0 || std::memcmp(again.data(), value.data(), size_bytes) == 0));
  }
  return again;
}

char* Text(const char* text) { return strdup(text); }

TEST_CASE("what programs write most is plain JSON without a description") {
  const Handle utf8 = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const AttributeJson text = ToJson(Values<char*>(utf8.get(), {}, {Text("caf\xc3\xa9")}));
  CHECK(text.value == "caf\xc3\xa9");
  CHECK(text.description.is_null());
  const AttributeJson number = ToJson(Values<int64_t>(H5T_STD_I64LE, {}, {-5}));
  CHECK(number.value == -5);
  CHECK(number.description.is_null());
  const AttributeJson floats = ToJson(Values<double>(H5T_IEEE_F64LE, {2}, {1.0, 0.1}));
  CHECK(floats.value.dump() == "[1.0,0.1]");
  CHECK(floats.description.is_null());
  const AttributeJson flag = ToJson(Values<int8_t>(MakeBoolType().get(), {}, {1}));
  CHECK(flag.value == true);
  CHECK(flag.description.is_null());
}

TEST_CASE("sized integers come back as they were") {
  RoundTrip(Values<int8_t>(H5T_STD_I8LE, {}, {-128}));
  RoundTrip(Values<uint16_t>(H5T_STD_U16BE, {3}, {1, 2, 65535}));
  RoundTrip(Values<uint64_t>(H5T_STD_U64LE, {}, {UINT64_MAX}));
  RoundTrip(Values<int64_t>(H5T_STD_I64LE, {2}, {INT64_MIN, INT64_MAX}));
}

TEST_CASE("the largest uint64 needs no description, a small one does") {
  CHECK(ToJson(Values<uint64_t>(H5T_STD_U64LE, {}, {UINT64_MAX})).description.is_null());
  CHECK(!ToJson(Values<uint64_t>(H5T_STD_U64LE, {}, {7})).description.is_null());
}

TEST_CASE("one element and a scalar are not the same") {
  CHECK(ToJson(Values<int64_t>(H5T_STD_I64LE, {1}, {4})).value == Json::array({4}));
  RoundTrip(Values<int64_t>(H5T_STD_I64LE, {1}, {4}));
  RoundTrip(Values<int64_t>(H5T_STD_I64LE, {}, {4}));
  RoundTrip(Values<float>(H5T_IEEE_F32LE, {1}, {4}));
}

TEST_CASE("a float32 is as short as its width allows") {
  CHECK(ToJson(Values<float>(H5T_IEEE_F32LE, {}, {1.1f})).value.dump() == "1.1");
  RoundTrip(Values<float>(H5T_IEEE_F32LE, {4}, {1.1f, 3.4028235e38f, 1e-45f, -0.0f}));
}

TEST_CASE("non-finite floats are words, payloads hex, and both come back bit for bit") {
  const uint64_t payload = 0x7ff8000000000123;
  const uint64_t negative = 0xfff8000000000000;
  std::vector<double> values = {NAN, INFINITY, -INFINITY, 0, 0, -0.0};
  std::memcpy(&values[3], &payload, 8);
  std::memcpy(&values[4], &negative, 8);
  const uint64_t quiet = 0x7ff8000000000000;
  std::memcpy(&values[0], &quiet, 8);
  const AttributeValue value = Values<double>(H5T_IEEE_F64LE, {6}, values);
  CHECK(ToJson(value).value.dump() ==
        "[\"NaN\",\"Infinity\",\"-Infinity\",\"0x7ff8000000000123\",\"0xfff8000000000000\",-0.0]");
  RoundTrip(value);
  RoundTrip(Values<uint16_t>(H5T_IEEE_F16LE, {3}, {0x7e00, 0x7e01, 0x3c00}));
  RoundTrip(Values<uint32_t>(H5T_IEEE_F32BE, {2}, {0x0000c07f, 0x0100c07f}));
}

TEST_CASE("empty arrays and null spaces come back") {
  RoundTrip(Values<double>(H5T_IEEE_F64LE, {0}, {}));
  RoundTrip(Values<int32_t>(H5T_STD_I32LE, {0, 3}, {}));
  RoundTrip(Values<int32_t>(H5T_STD_I32LE, {3, 0}, {}));
  const AttributeValue null_float(Handle(H5Tcopy(H5T_IEEE_F64LE)), Handle(H5Screate(H5S_NULL)), Buffer());
  CHECK(ToJson(null_float).value.is_null());
  CHECK(ToJson(null_float).description.is_null());
  RoundTrip(null_float);
  RoundTrip(
      AttributeValue(MakeFixedString(4, H5T_STR_NULLTERM, H5T_CSET_ASCII), Handle(H5Screate(H5S_NULL)), Buffer()));
}

TEST_CASE("enumerations are numbers with their names beside them") {
  Handle type(H5Tenum_create(H5T_STD_I16LE));
  int16_t red = -3;
  REQUIRE(H5Tenum_insert(type.get(), "RED", &red) >= 0);
  const AttributeValue value = Values<int16_t>(type.get(), {}, {-3});
  CHECK(ToJson(value).value == -3);
  CHECK(ToJson(value).description["type"]["mapping"]["RED"] == -3);
  RoundTrip(value);
}

TEST_CASE("a boolean of another value stays what it is") {
  RoundTrip(Values<int8_t>(MakeBoolType().get(), {2}, {0, 2}));
}

TEST_CASE("fixed strings of every padding come back") {
  RoundTrip(Value(MakeFixedString(6, H5T_STR_NULLTERM, H5T_CSET_ASCII).get(), Space({}), "abc\0\0\0"));
  RoundTrip(Value(MakeFixedString(6, H5T_STR_NULLPAD, H5T_CSET_UTF8).get(), Space({}), "a\0c\0\0\0"));
  RoundTrip(Value(MakeFixedString(6, H5T_STR_SPACEPAD, H5T_CSET_ASCII).get(), Space({2}),
                  "abc   "
                  "      "));
  RoundTrip(Value(MakeFixedString(3, H5T_STR_NULLTERM, H5T_CSET_ASCII).get(), Space({}), "abc"));
  CHECK(ToJson(Value(MakeFixedString(6, H5T_STR_NULLTERM, H5T_CSET_ASCII).get(), Space({}), "abc\0\0\0")).value ==
        "abc");
}

TEST_CASE("strings that are no UTF-8 are base64") {
  const Handle ascii = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_ASCII);
  const AttributeValue value = Values<char*>(ascii.get(), {2}, {Text("ok"), Text("\xff\xfe")});
  CHECK(ToJson(value).value == Json::array({"ok", Json{{"base64", "//4="}}}));
  const AttributeValue again = RoundTrip(value);
  char* text = nullptr;
  std::memcpy(&text, static_cast<const char*>(again.data()) + sizeof(char*), sizeof(char*));
  CHECK(std::string(text) == "\xff\xfe");
}

TEST_CASE("a compound with a string, an array, opaque bytes and long double comes back") {
  const Handle text = MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8);
  const hsize_t dims[] = {2, 2};
  const Handle array(H5Tarray_create2(H5T_STD_I32LE, 2, dims));
  Handle opaque(H5Tcreate(H5T_OPAQUE, 3));
  struct Row {
    char* text;
    int32_t numbers[2][2];
    unsigned char raw[3];
    long double wide;
  };
  Handle type(H5Tcreate(H5T_COMPOUND, sizeof(Row)));
  REQUIRE(H5Tinsert(type.get(), "text", offsetof(Row, text), text.get()) >= 0);
  REQUIRE(H5Tinsert(type.get(), "numbers", offsetof(Row, numbers), array.get()) >= 0);
  REQUIRE(H5Tinsert(type.get(), "raw", offsetof(Row, raw), opaque.get()) >= 0);
  REQUIRE(H5Tinsert(type.get(), "wide", offsetof(Row, wide), H5T_NATIVE_LDOUBLE) >= 0);
  Row row = {Text("hi"), {{1, 2}, {3, 4}}, {0, 255, 7}, 1.25L};
  const AttributeValue value = Value(type.get(), Space({}), &row);
  const Json json = ToJson(value).value;
  CHECK(json[0] == "hi");
  CHECK(json[1] == Json::array({Json::array({1, 2}), Json::array({3, 4})}));
  CHECK(json[2] == "AP8H");
  const AttributeValue again = RoundTrip(value);
  Row read;
  std::memcpy(static_cast<void*>(&read), again.data(), sizeof(read));
  CHECK(read.wide == 1.25L);
  CHECK(std::string(read.text) == "hi");
}

TEST_CASE("sequences of references come back, as dimension scales need it") {
  const Handle type(H5Tvlen_create(H5T_STD_REF_OBJ));
  auto* references = static_cast<hobj_ref_t*>(std::malloc(2 * sizeof(hobj_ref_t)));
  references[0] = 7, references[1] = 9;
  const AttributeValue value = Values<hvl_t>(type.get(), {2}, {hvl_t{2, references}, hvl_t{0, nullptr}});
  CHECK(ToJson(value).value == Json::array({Json::array({"/7", "/9"}), Json::array()}));
  const AttributeValue again = RoundTrip(value);
  hvl_t first;
  std::memcpy(&first, again.data(), sizeof(first));
  REQUIRE(first.len == 2);
  CHECK(static_cast<hobj_ref_t*>(first.p)[1] == 9);
}

TEST_CASE("a reference is LINDI's object and needs no description") {
  const AttributeJson json = ToJson(Values<hobj_ref_t>(H5T_STD_REF_OBJ, {}, {7}));
  CHECK(json.value["_REFERENCE"]["path"] == "/7");
  CHECK(json.description.is_null());
  const AttributeValue null_reference = Values<hobj_ref_t>(H5T_STD_REF_OBJ, {}, {0});
  CHECK(ToJson(null_reference).value["_REFERENCE"]["path"] == "");
  RoundTrip(null_reference);
  RoundTrip(Values<hobj_ref_t>(H5T_STD_REF_OBJ, {2}, {7, 0}));
}

TEST_CASE("a reference to what is gone is null") {
  const AttributeValue value =
      FromJson(zarr::ParseJson(R"({"_REFERENCE": {"source": ".", "path": "/gone"}})", "a").value());
  hobj_ref_t reference = 1;
  std::memcpy(&reference, value.data(), sizeof(reference));
  CHECK(reference == 0);
}

TEST_CASE("references other than null ones are refused where there is no store") {
  for (const hid_t type : {hid_t{H5T_STD_REF_DSETREG}, hid_t{H5T_STD_REF_OBJ}}) {
    std::vector<unsigned char> bytes(H5Tget_size(type), 1);
    const auto json = ElementToJson(type, bytes.data(), ReferenceResolver());
    REQUIRE(!json.ok());
    CHECK(json.status().code() == StatusCode::kUnsupported);
    CHECK(!ElementFromJson("/a", type, bytes.data(), ReferenceResolver()).ok());
    REQUIRE(ElementFromJson("", type, bytes.data(), ReferenceResolver()).ok());
    CHECK(ElementToJson(type, bytes.data(), ReferenceResolver()).value() == "");
  }
}

TEST_CASE("foreign JSON has a natural form") {
  const auto natural = [](const char* text) {
    const AttributeValue value = FromJson(zarr::ParseJson(text, "a").value());
    return TypeToJson(value.type()).value().dump() + " " +
           std::to_string(
               H5Sget_simple_extent_type(value.space()) == H5S_NULL ? -1 : H5Sget_simple_extent_ndims(value.space()));
  };
  const std::string text = TypeToJson(MakeVlenString(H5T_STR_NULLTERM, H5T_CSET_UTF8).get()).value().dump();
  const std::string json_text = TypeToJson(MakeVlenString(H5T_STR_SPACEPAD, H5T_CSET_UTF8).get()).value().dump();
  const std::string boolean = TypeToJson(MakeBoolType().get()).value().dump();
  CHECK(natural("5") == "\"H5T_STD_I64LE\" 0");
  CHECK(natural("18446744073709551615") == "\"H5T_STD_U64LE\" 0");
  CHECK(natural("[1, -1]") == "\"H5T_STD_I64LE\" 1");
  CHECK(natural("[1, 0.5]") == "\"H5T_IEEE_F64LE\" 1");
  CHECK(natural("[1.0, NaN]") == "\"H5T_IEEE_F64LE\" 1");
  CHECK(natural("[1.0, \"NaN\"]") == "\"H5T_IEEE_F64LE\" 1");
  CHECK(natural("[[1, 2], [3, 4]]") == "\"H5T_STD_I64LE\" 2");
  CHECK(natural("[]") == "\"H5T_IEEE_F64LE\" 1");
  CHECK(natural("null") == "\"H5T_IEEE_F64LE\" -1");
  CHECK(natural("true") == boolean + " 0");
  CHECK(natural("[true, false]") == boolean + " 1");
  CHECK(natural("\"NaN\"") == text + " 0");
  CHECK(natural("[\"a\", \"NaN\"]") == text + " 1");
  CHECK(natural("[1, \"a\"]") == json_text + " 0");
  CHECK(natural("[[1], [2, 3]]") == json_text + " 0");
  CHECK(natural("[[1], []]") == json_text + " 0");
  CHECK(natural("[true, 1]") == json_text + " 0");
  CHECK(natural("{\"a\": [1]}") == json_text + " 0");
}

TEST_CASE("an object is its compact text") {
  const AttributeValue value = FromJson(zarr::ParseJson("{\"b\": [1, 2], \"a\": 1}", "a").value());
  char* text = nullptr;
  std::memcpy(&text, value.data(), sizeof(text));
  CHECK(std::string(text) == "{\"b\":[1,2],\"a\":1}");
}

TEST_CASE("the text of an object is that object again, and as such text it is found in any spelling") {
  const Json object = zarr::ParseJson(R"({"b":[1,"x y",null],"a":{"é":1.5}})", "a").value();
  const AttributeJson copied = ToJson(FromJson(object));
  CHECK(copied.value == object);
  CHECK(copied.description.is_null());
  const auto meant = [](const char* text) { return JsonOfText({Json(text), Json()}).value_or(Json()); };
  CHECK(meant(R"({"b":[1,"x y",null],"a":{"é":1.5}})") == object);
  CHECK(meant("{ \"b\": [1, \"x y\",\tnull],\n \"a\": {\"\\u00e9\": 1.5}}\n") == object);
  CHECK(meant("{\"a\": 1.50}").is_null());
  CHECK(meant("{\"a\": NaN}").is_null());
  CHECK(meant("{\"a\": 1e999}").is_null());
  CHECK(meant("{\"a\": 100000000000000000000}").is_null());
  CHECK(meant("{\"a\": 1}}").is_null());
  CHECK(meant("[1, 2]").is_null());
  CHECK(meant("\"a\"").is_null());
  CHECK(meant("").is_null());
  CHECK(JsonOfText({Json(1), Json()}) == std::nullopt);
}

TEST_CASE("a value changed by another program is read naturally") {
  const AttributeJson json = ToJson(Values<int16_t>(H5T_STD_I16LE, {2}, {1, 2}));
  const AttributeValue changed = FromJson("other", json.description);
  CHECK(IsVlenString(changed.type()));
  const AttributeValue too_large = FromJson(Json::array({1, 70000}), json.description);
  CHECK(H5Tequal(too_large.type(), H5T_STD_I64LE) > 0);
}

TEST_CASE("a description beyond all bounds costs nothing") {
  const Json description =
      zarr::ParseJson(R"({"type": "H5T_STD_I8LE", "shape": [4000000000, 4000000000]})", "a").value();
  CHECK(H5Tequal(FromJson(Json::array({1}), description).type(), H5T_STD_I64LE) > 0);
}

TEST_CASE("_FillValue of float arrays is xarray's base64") {
  const DType f4 = DType::Float(4);
  // base64.standard_b64encode(struct.pack("<d", 1e20)), xarray 2026.9
  const Json encoded = EncodedFillValue(Json(1e20), DType::Float(8), 3);
  CHECK(encoded == "QIy1eB2vFUQ=");
  CHECK(EncodedFillValue(Json::array({1e20}), DType::Float(8), 3) == encoded);
  CHECK(EncodedFillValue(Json(1e20), f4, 3) == "AAAAgB2vFUQ=");  // … numpy.float32(1e20) …
  CHECK(NaturalFillValue(encoded, DType::Float(8), 3) == 1e20);
  CHECK(std::isnan(NaturalFillValue(EncodedFillValue("NaN", f4, 3), f4, 3).get<double>()));
  CHECK(NaturalFillValue(EncodedFillValue(Json(1.1), f4, 3), f4, 3) == 1.1);
}

TEST_CASE("_FillValue of other arrays is left alone") {
  CHECK(EncodedFillValue(Json(7), DType::Int(4), 3) == 7);
  CHECK(EncodedFillValue(Json(0.5), DType::Float(4), 2) == 0.5);
  CHECK(NaturalFillValue("QIy1eB2vFUQ=", DType::Int(8), 3) == "QIy1eB2vFUQ=");
  CHECK(NaturalFillValue("none", DType::Float(8), 3) == "none");
  CHECK(FillValueDescription(DType::Int(4), 1.5).is_null());
}

TEST_CASE("_FillValue has the array's own type, in the shape it was written") {
  const DType f4 = DType::Float(4);
  const AttributeJson json = ToJson(Values<float>(H5T_IEEE_F32LE, {1}, {1e20f}));
  const Json stored = EncodedFillValue(json.value, f4, 3);
  const AttributeValue value = FromJson(NaturalFillValue(stored, f4, 3), json.description);
  CHECK(H5Sget_simple_extent_ndims(value.space()) == 1);
  float number = 0;
  std::memcpy(&number, value.data(), 4);
  CHECK(number == 1e20f);
  const AttributeValue foreign =
      FromJson(NaturalFillValue(stored, f4, 3), FillValueDescription(f4, NaturalFillValue(stored, f4, 3)));
  CHECK(H5Tequal(foreign.type(), H5T_IEEE_F32LE) > 0);
}

TEST_CASE("an element that is no JSON of its type is corrupt") {
  int16_t number = 0;
  CHECK(ElementFromJson(40000, H5T_STD_I16LE, &number, FakeReferences()).code() == StatusCode::kCorrupt);
  CHECK(ElementFromJson(-1, H5T_STD_U16LE, &number, FakeReferences()).code() == StatusCode::kCorrupt);
  CHECK(ElementFromJson("x", H5T_STD_U16LE, &number, FakeReferences()).code() == StatusCode::kCorrupt);
  CHECK(ElementFromJson(1.5, H5T_STD_U16LE, &number, FakeReferences()).code() == StatusCode::kCorrupt);
}

}  // namespace
}  // namespace h5zarr::shadow
