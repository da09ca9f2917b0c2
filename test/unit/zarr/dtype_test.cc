#include "base/dtype.h"

#include "catch.h"
#include "unit/zarr/golden.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {
namespace {

using test::Describe;

Json J(std::string_view text) { return *ParseJson(text, "test"); }

std::string V3(std::string_view text) {
  const auto dtype = ParseDTypeV3(J(text));
  return dtype.ok() ? Describe(*dtype) : std::string(StatusCodeName(dtype.status().code()));
}

std::string V2(std::string_view text) {
  const auto dtype = ParseDTypeV2(J(text));
  return dtype.ok() ? Describe(*dtype) : std::string(StatusCodeName(dtype.status().code()));
}

TEST_CASE("every v3 spelling of a type is read") {
  CHECK(V3(R"("int32")") == "int4:little");
  CHECK(V3(R"({"name": "int32"})") == "int4:little");
  CHECK(V3(R"({"name": "bool", "configuration": {}})") == "bool1");
  CHECK(V3(R"("complex_float32")") == "complex8:little");
  CHECK(V3(R"("complex_float16")") == "complex4:little");
  CHECK(V3(R"("complex32")") == "complex4:little");
  CHECK(V3(R"("r24")") == "raw3");
  CHECK(V3(R"({"name": "raw_bytes", "configuration": {"length_bytes": 3}})") == "raw3");
  CHECK(V3(R"("variable_length_bytes")") == "vlenbytes");
  CHECK(V3(R"("bytes")") == "vlenbytes");
  CHECK(V3(R"("float8_e8m0fnu")") == "float1/float8_e8m0fnu");
  CHECK(V3(R"("float4_e2m1fn")") == "float1/float4_e2m1fn");
  CHECK(V3(R"("int4")") == "int1/int4");
  CHECK(V3(R"("uint2")") == "uint1/uint2");
  CHECK(V3(R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 10}})") ==
        "datetime8(s,10):little");
}

TEST_CASE("v3 structs are read from pairs and from objects") {
  CHECK(V3(R"({"name": "structured", "configuration": {"fields": [["a", "int8"], ["b", "float64"]]}})") ==
        "struct9{a@0:int1,b@1:float8:little}");
  CHECK(V3(R"({"name": "struct", "configuration": {"fields": [
               {"name": "p", "data_type": {"name": "struct", "configuration": {"fields": [
                 {"name": "x", "data_type": "float32"}, {"name": "y", "data_type": "r16"}]}}},
               {"name": "q", "data_type": "bool"}]}})") ==
        "struct7{p@0:struct6{x@0:float4:little,y@4:raw2},q@6:bool1}");
}

TEST_CASE("v3 types that are unknown or cannot be stored are unsupported") {
  for (const char* text : {R"("int128")", R"("int3")", R"("r12")", R"("r0x")", R"("r")", R"("complex_bfloat16")",
                           R"({"name": "raw_bytes", "configuration": {"length_bytes": 99999999999}})",
                           R"({"name": "structured", "configuration": {"fields": [["a", "string"]]}})"}) {
    INFO(text);
    CHECK(V3(text) == "unsupported");
  }
  CHECK(ParseDTypeV3(J(R"("int128")")).status().message().find("int128") != std::string::npos);
}

TEST_CASE("malformed v3 types are corrupt") {
  for (const char* text : {"3", "{}", R"({"name": 3})", R"({"name": "raw_bytes"})",
                           R"({"name": "raw_bytes", "configuration": {"length_bytes": -1}})",
                           R"({"name": "fixed_length_utf32", "configuration": {"length_bytes": 6}})",
                           R"({"name": "structured", "configuration": {"fields": []}})",
                           R"({"name": "structured", "configuration": {"fields": [["a", "int8"], ["a", "int8"]]}})",
                           R"({"name": "numpy.datetime64", "configuration": {"unit": "s", "scale_factor": 0}})"}) {
    INFO(text);
    CHECK(V3(text) == "corrupt data");
  }
}

TEST_CASE("v2 type strings are read with their byte order") {
  CHECK(V2(R"("<i4")") == "int4:little");
  CHECK(V2(R"(">u2")") == "uint2:big");
  CHECK(V2(R"("|u1")") == "uint1");
  CHECK(V2(R"(">f8")") == "float8:big");
  CHECK(V2(R"("<c16")") == "complex16:little");
  CHECK(V2(R"("|S10")") == "bytes10");
  CHECK(V2(R"("|S0")") == "bytes0");
  CHECK(V2(R"("<U0")") == "utf320:little");
  CHECK(V2(R"(">U3")") == "utf3212:big");
  CHECK(V2(R"("|V7")") == "raw7");
  CHECK(V2(R"("<M8[25s]")") == "datetime8(s,25):little");
  CHECK(V2(R"("<m8")") == "timedelta8(generic,1):little");
}

TEST_CASE("v2 structs nest, hold arrays and mix byte orders") {
  CHECK(V2(R"([["a", "<i4"], ["v", ">f4", [3, 2]], ["n", [["x", "|u1"], ["", "|V3"]]], ["w", "<i2", 4]])") ==
        "struct40{a@0:int4:little,v@4[3, 2]:float4:big,n@28:struct4{x@0:uint1,f1@1:raw3},"
        "w@32[4]:int2:little}");
  CHECK(V2(R"([[["a title", "a"], "<i4"]])") == "struct4{a@0:int4:little}");
}

TEST_CASE("v2 types that are wrong are refused") {
  for (const char* text :
       {R"("|i4")", R"("i4")", R"("<i")", R"("<i4x")", R"("<M8[s")", R"("<M8[0s]")", R"("<M8[99999999999999999999s]")",
        "4", "[]", R"([["a"]])", R"([["a", "<i4", [-1]]])", R"([["a", "<i4"], ["a", "<i4"]])"}) {
    INFO(text);
    CHECK(V2(text) == "corrupt data");
  }
  for (const char* text :
       {R"("<i3")", R"("<f16")", R"("<c32")", R"("|O")", R"("<x4")", R"("|S99999999999")", R"("<U4611686018427387905")",
        R"([["a", "|S1000", [1000000, 1000000]]])", R"([["a", "<i8", [4294967296, 4294967296]]])"}) {
    INFO(text);
    CHECK(V2(text) == "unsupported");
  }
}

TEST_CASE("types are written in each format's words") {
  DType time = DType::Int(8);
  time.kind = DType::Kind::kDatetime;
  time.unit = "s";
  time.scale_factor = 10;
  CHECK(FormatDTypeV3(time)->dump() == R"({"name":"numpy.datetime64","configuration":{"unit":"s","scale_factor":10}})");
  CHECK(*FormatDTypeV2(time) == "<M8[10s]");
  CHECK(FormatDTypeV3(DType::Raw(3))->dump() == R"({"name":"raw_bytes","configuration":{"length_bytes":3}})");
  CHECK(*FormatDTypeV3(DType::VlenBytes()) == "bytes");
  CHECK(*FormatDTypeV2(DType::Utf32(2, Endian::kBig)) == ">U2");
  CHECK(*FormatDTypeV2(DType::String()) == "|O");
  const char* v2 = R"([["a",">i4"],["v","<f4",[3]],["n",[["x","|S2"]]]])";
  CHECK(FormatDTypeV2(*ParseDTypeV2(J(v2)))->dump() == v2);
}

TEST_CASE("types that a format lacks are not written") {
  const DType with_array = *ParseDTypeV2(J(R"([["v", "<f4", [3]]])"));
  CHECK(FormatDTypeV3(with_array).status().code() == StatusCode::kUnsupported);
  DType float8 = DType::Float(1);
  float8.format = "float8_e5m2";
  CHECK(FormatDTypeV2(float8).status().code() == StatusCode::kUnsupported);
  CHECK(*FormatDTypeV3(float8) == "float8_e5m2");
}

}  // namespace
}  // namespace h5zarr::zarr
