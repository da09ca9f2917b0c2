#include "base/dtype.h"

namespace h5zarr {
namespace {

DType Make(DType::Kind kind, uint64_t item_bytes, Endian endian = Endian::kLittle) {
  DType dtype;
  dtype.kind = kind;
  dtype.item_bytes = item_bytes;
  dtype.endian = endian;
  return dtype;
}

}  // namespace

bool DType::has_endian() const {
  switch (kind) {
    case Kind::kInt:
    case Kind::kUint:
    case Kind::kFloat: return item_bytes > 1;
    case Kind::kComplex: return item_bytes > 2;
    case Kind::kUtf32:
    case Kind::kDatetime:
    case Kind::kTimedelta: return true;
    case Kind::kBool:
    case Kind::kRaw:
    case Kind::kBytes:
    case Kind::kStruct:
    case Kind::kString:
    case Kind::kVlenBytes: return false;
  }
  return false;
}

DType DType::Bool() { return Make(Kind::kBool, 1); }
DType DType::Int(uint64_t item_bytes, Endian endian) { return Make(Kind::kInt, item_bytes, endian); }
DType DType::Uint(uint64_t item_bytes, Endian endian) { return Make(Kind::kUint, item_bytes, endian); }
DType DType::Float(uint64_t item_bytes, Endian endian) { return Make(Kind::kFloat, item_bytes, endian); }
DType DType::Complex(uint64_t item_bytes, Endian endian) { return Make(Kind::kComplex, item_bytes, endian); }
DType DType::Raw(uint64_t item_bytes) { return Make(Kind::kRaw, item_bytes); }
DType DType::Bytes(uint64_t item_bytes) { return Make(Kind::kBytes, item_bytes); }
DType DType::Utf32(uint64_t code_points, Endian endian) { return Make(Kind::kUtf32, 4 * code_points, endian); }
DType DType::String() { return Make(Kind::kString, sizeof(VlenRef)); }
DType DType::VlenBytes() { return Make(Kind::kVlenBytes, sizeof(VlenRef)); }

bool DType::operator==(const DType& other) const {
  return kind == other.kind && item_bytes == other.item_bytes && (!has_endian() || endian == other.endian) &&
         format == other.format && unit == other.unit && scale_factor == other.scale_factor && fields == other.fields;
}

}  // namespace h5zarr
