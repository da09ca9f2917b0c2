// Finds the golden documents and describes types as test/golden/metadata/make.py does.
#ifndef H5ZARR_TEST_UNIT_ZARR_GOLDEN_H_
#define H5ZARR_TEST_UNIT_ZARR_GOLDEN_H_

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "base/buffer.h"
#include "base/dtype.h"

namespace h5zarr::zarr::test {

inline std::string ReadGolden(const std::string& name) {
  const auto folder = std::filesystem::path(H5ZARR_GOLDEN) / "metadata";
  std::ifstream file(folder / name, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(file), {});
}

inline std::string Hex(ByteSpan bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += kDigits[std::to_integer<int>(byte) >> 4];
    text += kDigits[std::to_integer<int>(byte) & 15];
  }
  return text;
}

inline std::string Describe(const DType& dtype) {
  using Kind = DType::Kind;
  const auto sized = [&dtype](const char* name) {
    std::string text = name + std::to_string(dtype.item_bytes);
    if (dtype.kind == Kind::kDatetime || dtype.kind == Kind::kTimedelta) {
      text += "(" + dtype.unit + "," + std::to_string(dtype.scale_factor) + ")";
    }
    if (dtype.has_endian()) text += dtype.endian == Endian::kBig ? ":big" : ":little";
    if (!dtype.format.empty()) text += "/" + dtype.format;
    return text;
  };
  switch (dtype.kind) {
    case Kind::kBool: return sized("bool");
    case Kind::kInt: return sized("int");
    case Kind::kUint: return sized("uint");
    case Kind::kFloat: return sized("float");
    case Kind::kComplex: return sized("complex");
    case Kind::kRaw: return sized("raw");
    case Kind::kBytes: return sized("bytes");
    case Kind::kUtf32: return sized("utf32");
    case Kind::kDatetime: return sized("datetime");
    case Kind::kTimedelta: return sized("timedelta");
    case Kind::kString: return "string";
    case Kind::kVlenBytes: return "vlenbytes";
    case Kind::kStruct: break;
  }
  std::string text = sized("struct") + "{";
  for (const DTypeField& field : dtype.fields) {
    if (text.back() != '{') text += ",";
    text += field.name + "@" + std::to_string(field.offset_bytes);
    if (!field.shape.empty()) {
      text += "[";
      for (const uint64_t extent : field.shape) {
        if (text.back() != '[') text += ", ";
        text += std::to_string(extent);
      }
      text += "]";
    }
    text += ":" + Describe(field.dtype);
  }
  return text + "}";
}

}  // namespace h5zarr::zarr::test

#endif  // H5ZARR_TEST_UNIT_ZARR_GOLDEN_H_
