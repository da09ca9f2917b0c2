#include <cmath>

#include "catch.h"
#include "unit/zarr/golden.h"
#include "zarr/metadata.h"

namespace h5zarr::zarr {
namespace {

using test::Hex;

Json J(std::string_view text) { return *ParseJson(text, "test"); }

// The fill's bytes in hexadecimal, or the failure's name.
std::string Fill(std::string_view text, const DType& dtype, int zarr_format) {
  const auto fill = ParseFillValue(J(text), dtype, zarr_format);
  return fill.ok() ? Hex(fill->bytes) : std::string(StatusCodeName(fill.status().code()));
}

DType FloatFormat(const char* name, uint64_t item_bytes) {
  DType dtype = DType::Float(item_bytes);
  dtype.format = name;
  return dtype;
}

DType Pair(Endian endian = Endian::kLittle) {
  const char* order = endian == Endian::kBig ? ">" : "<";
  return *ParseDTypeV2(J(std::string(R"([["a", ")") + order + R"(i4"], ["b", ")" + order + R"(f4"]])"));
}

TEST_CASE("integers fill in any number form that fits") {
  CHECK(Fill("-2", DType::Int(2), 3) == "feff");
  CHECK(Fill("-2", DType::Int(2, Endian::kBig), 3) == "fffe");
  CHECK(Fill("7.0", DType::Int(4), 2) == "07000000");
  CHECK(Fill("true", DType::Uint(1), 2) == "01");
  CHECK(Fill("18446744073709551615", DType::Uint(8), 3) == "ffffffffffffffff");
  CHECK(Fill("[-32767]", DType::Int(4), 2) == "0180ffff");
}

TEST_CASE("numbers in quotes fill") {
  for (const int zarr_format : {2, 3}) {
    CHECK(Fill("\"0.0\"", DType::Float(8), zarr_format) == "0000000000000000");
    CHECK(Fill("\"1.5e0\"", DType::Float(4, Endian::kBig), zarr_format) == "3fc00000");
    CHECK(Fill("\"-2\"", DType::Int(2), zarr_format) == "feff");
    for (const char* text : {"\"\"", "\" \"", "\"x\"", "\"[1]\"", "\"1 2\"", "\"true\"", "\"300\""}) {
      INFO(text);
      CHECK(Fill(text, DType::Int(1), zarr_format) == "corrupt data");
    }
    CHECK(Fill("\"0\"", DType::Bool(), zarr_format) == "corrupt data");
  }
}

TEST_CASE("integers that do not fit are refused") {
  for (const char* text : {"128", "-129", "1.5", "NaN", "\"128\"", "[1, 2]", "{}", "1e300"}) {
    INFO(text);
    CHECK(Fill(text, DType::Int(1), 3) == "corrupt data");
  }
  CHECK(Fill("-1", DType::Uint(8), 3) == "corrupt data");
  CHECK(Fill("9223372036854775808", DType::Int(8), 3) == "corrupt data");
  CHECK(Fill("18446744073709551616", DType::Uint(8), 3) == "corrupt data");
  CHECK(Fill("-9223372036854775808", DType::Int(8), 3) == "0000000000000080");
}

TEST_CASE("booleans fill from booleans and from 0 and 1") {
  CHECK(Fill("true", DType::Bool(), 3) == "01");
  CHECK(Fill("0", DType::Bool(), 2) == "00");
  CHECK(Fill("2", DType::Bool(), 2) == "corrupt data");
}

TEST_CASE("floats fill from numbers, words and bare tokens") {
  CHECK(Fill("1.1", DType::Float(4), 3) == "cdcc8c3f");
  CHECK(Fill("\"NaN\"", DType::Float(4), 3) == "0000c07f");
  CHECK(Fill("NaN", DType::Float(8, Endian::kBig), 2) == "7ff8000000000000");
  CHECK(Fill("\"-Infinity\"", DType::Float(2), 3) == "00fc");
  CHECK(Fill("-Infinity", DType::Float(2), 2) == "00fc");
  CHECK(Fill("9", DType::Float(8), 3) == "0000000000002240");
  CHECK(Fill("\"abc\"", DType::Float(8), 3) == "corrupt data");
}

TEST_CASE("v3 floats fill from a bit pattern and v2 ones do not") {
  CHECK(Fill("\"0x7fc00001\"", DType::Float(4), 3) == "0100c07f");
  CHECK(Fill("\"0x7fc00001\"", DType::Float(4, Endian::kBig), 3) == "7fc00001");
  CHECK(Fill("\"0x7fc1\"", FloatFormat("bfloat16", 2), 3) == "c17f");
  CHECK(Fill("\"0x7fc0000\"", DType::Float(4), 3) == "corrupt data");
  CHECK(Fill("\"0x-7fc000\"", DType::Float(4), 3) == "corrupt data");
  CHECK(Fill("\"0x7fc00001\"", DType::Float(4), 2) == "corrupt data");
}

TEST_CASE("small floats round to the nearest and refuse what they lack") {
  CHECK(Fill("448", FloatFormat("float8_e4m3fn", 1), 3) == "7e");
  CHECK(Fill("449", FloatFormat("float8_e4m3fn", 1), 3) == "corrupt data");
  CHECK(Fill("\"Infinity\"", FloatFormat("float8_e4m3fn", 1), 3) == "corrupt data");
  CHECK(Fill("\"Infinity\"", FloatFormat("float8_e5m2", 1), 3) == "7c");
  CHECK(Fill("-0.0", FloatFormat("float8_e4m3fnuz", 1), 3) == "00");
  CHECK(Fill("-0.0", FloatFormat("float8_e5m2", 1), 3) == "80");
  CHECK(Fill("7.5", FloatFormat("float6_e2m3fn", 1), 3) == "1f");
  CHECK(Fill("-6", FloatFormat("float4_e2m1fn", 1), 3) == "0f");
  CHECK(Fill("\"NaN\"", FloatFormat("float4_e2m1fn", 1), 3) == "corrupt data");
  CHECK(Fill("0.5", FloatFormat("float8_e8m0fnu", 1), 3) == "7e");
  CHECK(Fill("0", FloatFormat("float8_e8m0fnu", 1), 3) == "corrupt data");
  CHECK(Fill("65505", DType::Float(2), 3) == "corrupt data");
  CHECK(Fill("1e6", DType::Float(2), 3) == "007c");
  CHECK(Fill("-65536", DType::Float(2, Endian::kBig), 2) == "fc00");
  CHECK(Fill("1e39", FloatFormat("bfloat16", 2), 3) == "807f");
  CHECK(Fill("1e6", FloatFormat("float8_e4m3fn", 1), 3) == "corrupt data");
  CHECK(Fill("1.00048828125", DType::Float(2), 3) == "003c");  // a tie goes to the even code
  CHECK(Fill("1.00146484375", DType::Float(2), 3) == "023c");
}

TEST_CASE("complex numbers fill from pairs and from real numbers") {
  CHECK(Fill("[1.5, \"NaN\"]", DType::Complex(8), 3) == "0000c03f0000c07f");
  CHECK(Fill("1.5", DType::Complex(8, Endian::kBig), 2) == "3fc0000000000000");
  CHECK(Fill("[1]", DType::Complex(8), 3) == "corrupt data");
}

TEST_CASE("opaque bytes fill from base64, byte lists and zero") {
  CHECK(Fill("\"AQID\"", DType::Raw(3), 3) == "010203");
  CHECK(Fill("[1, 2, 255]", DType::Raw(3), 3) == "0102ff");
  CHECK(Fill("\"\"", DType::Raw(3), 2) == "000000");
  CHECK(Fill("0", DType::Raw(3), 2) == "000000");
  CHECK(Fill("\"AQI=\"", DType::Raw(3), 3) == "corrupt data");
  CHECK(Fill("[1, 2, 256]", DType::Raw(3), 3) == "corrupt data");
  CHECK(Fill("[1]", DType::Raw(1), 3) == "01");
}

TEST_CASE("byte strings fill from padded and bare base64, plain text, empty text and zero") {
  CHECK(Fill("\"WA==\"", DType::Bytes(4), 2) == "58000000");
  CHECK(Fill("\"WAAAAA==\"", DType::Bytes(4), 2) == "58000000");
  CHECK(Fill("\"a b\"", DType::Bytes(4), 2) == "61206200");
  CHECK(Fill("\"\"", DType::Bytes(4), 2) == "00000000");
  CHECK(Fill("0", DType::Bytes(4), 2) == "00000000");
  CHECK(Fill("\"too long\"", DType::Bytes(4), 2) == "corrupt data");
  CHECK(Fill("\"\"", DType::Bytes(0), 2).empty());
}

TEST_CASE("UTF-32 text fills from text") {
  CHECK(Fill("\"h\\u00e9\"", DType::Utf32(3), 2) == "68000000e900000000000000");
  CHECK(Fill("\"\\ud83d\\ude00\"", DType::Utf32(1, Endian::kBig), 2) == "0001f600");
  CHECK(Fill("\"abcd\"", DType::Utf32(3), 2) == "corrupt data");
  CHECK(Fill("0", DType::Utf32(1), 2) == "00000000");
}

TEST_CASE("structs fill from base64, legacy zero, objects and lists") {
  CHECK(Fill("\"AQAAAAAAIEA=\"", Pair(), 2) == "0100000000002040");
  CHECK(Fill("0", Pair(), 2) == "0000000000000000");
  CHECK(Fill("\"\"", Pair(), 2) == "0000000000000000");
  CHECK(Fill(R"({"a": 1, "b": 2.5})", Pair(), 3) == "0100000000002040");
  CHECK(Fill(R"({"b": 2.5, "a": 1})", Pair(Endian::kBig), 3) == "0000000140200000");
  CHECK(Fill("[1, 2.5]", Pair(), 2) == "0100000000002040");
  CHECK(Fill(R"({"a": 1})", Pair(), 3) == "corrupt data");
  CHECK(Fill("\"AQAAAA==\"", Pair(), 3) == "corrupt data");
}

TEST_CASE("base64 of a struct is as stored in v2 and little endian in v3") {
  CHECK(Fill("\"AQAAAAAAIEA=\"", Pair(Endian::kBig), 3) == "0000000140200000");
  CHECK(Fill("\"AAAAAUAgAAA=\"", Pair(Endian::kBig), 2) == "0000000140200000");
}

TEST_CASE("variable-length values fill from text, base64 and every word for empty") {
  for (const char* text : {"0", "\"\""}) {
    CHECK(Fill(text, DType::String(), 2).empty());
    CHECK(Fill(text, DType::VlenBytes(), 3).empty());
  }
  CHECK(Fill("[]", DType::VlenBytes(), 3).empty());
  CHECK(Fill("\"0\"", DType::String(), 2) == "30");
  CHECK(Fill("\"YWL/\"", DType::VlenBytes(), 3) == "6162ff");
  CHECK(Fill("[97]", DType::VlenBytes(), 3) == "61");
  CHECK(Fill("\"a\"", DType::VlenBytes(), 3) == "corrupt data");
}

TEST_CASE("null is no fill value but reads as zeros") {
  for (const int zarr_format : {2, 3}) {
    const auto fill = ParseFillValue(Json(), DType::Float(4), zarr_format);
    REQUIRE(fill.ok());
    CHECK_FALSE(fill->defined);
    CHECK(Hex(fill->bytes) == "00000000");
    CHECK(ParseFillValue(Json(), DType::String(), zarr_format)->bytes.empty());
  }
  CHECK(FormatFillValue(*ParseFillValue(Json(), DType::Float(4), 2), DType::Float(4), 2)->is_null());
}

TEST_CASE("times fill from ticks and NaT") {
  DType time = DType::Int(8);
  time.kind = DType::Kind::kDatetime;
  CHECK(Fill("\"NaT\"", time, 3) == "0000000000000080");
  CHECK(Fill("-9223372036854775808", time, 3) == "0000000000000080");
  CHECK(Fill("7", time, 2) == "0700000000000000");
}

TEST_CASE("floats are written in their shortest form") {
  const auto written = [](std::string_view text, const DType& dtype, int zarr_format) {
    return FormatFillValue(*ParseFillValue(J(text), dtype, 3), dtype, zarr_format)->dump();
  };
  CHECK(written("1.1", DType::Float(4), 3) == "1.1");
  CHECK(written("0.1", DType::Float(8), 3) == "0.1");
  CHECK(written("-0.0", DType::Float(4), 3) == "-0.0");
  CHECK(written("\"NaN\"", DType::Float(2), 3) == "\"NaN\"");
  CHECK(written("\"0x7fc00001\"", DType::Float(4), 3) == "\"0x7fc00001\"");
  CHECK(written("\"0x7fc00001\"", DType::Float(4), 2) == "\"NaN\"");
  CHECK(written("\"-Infinity\"", DType::Float(8, Endian::kBig), 3) == "\"-Infinity\"");
}

TEST_CASE("every code of the small floats survives writing and reading") {
  for (const char* name : {"float8_e3m4", "float8_e4m3", "float8_e4m3fn", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
                           "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"}) {
    const DType dtype = FloatFormat(name, 1);
    for (int code = 0; code < 256; ++code) {
      INFO(name << " " << code);
      const FillValue fill{true, {static_cast<std::byte>(code)}, {}};
      const auto json = FormatFillValue(fill, dtype, 3);
      REQUIRE(json.ok());
      const auto again = ParseFillValue(*json, dtype, 3);
      INFO(json->dump() << " " << again.status().message());
      REQUIRE(again.ok());
      REQUIRE(*again == fill);
    }
  }
}

TEST_CASE("a fill value of the wrong size is not written") {
  CHECK(FormatFillValue(FillValue{true, {}, {}}, DType::Int(4), 3).status().code() == StatusCode::kInvalidArgument);
}

TEST_CASE("base64 round-trips and refuses what is none") {
  for (const char* text : {"", "YQ==", "YWI=", "YWJj", "YWL/", "AAAA"}) {
    CHECK(EncodeBase64(*DecodeBase64(text)) == text);
  }
  for (const char* text : {"a", "YQ=", "YQ==YQ==", "Y===", "====", "YR==", "YWJ=", "YW J", "YW-_", "\xC3\xA9=="}) {
    INFO(text);
    CHECK_FALSE(DecodeBase64(text).ok());
  }
}

}  // namespace
}  // namespace h5zarr::zarr
