// DType: what one element of an array is, in Zarr's terms and independent of format version.
//
// A DType describes *stored* bytes: elements keep their stored byte order all the way to the
// caller, who converts (HDF5 has types of both orders). It knows no HDF5 type and no JSON.
#ifndef H5ZARR_BASE_DTYPE_H_
#define H5ZARR_BASE_DTYPE_H_

#include <cstdint>
#include <string>
#include <vector>

namespace h5zarr {

enum class Endian : uint8_t { kLittle, kBig };

// One element of an array of variable-length values, in memory: `size_bytes` bytes at `data`.
// Layout-compatible with HDF5's hvl_t. Not owning; whoever hands it out says what it lives by.
struct VlenRef {
  uint64_t size_bytes = 0;
  const std::byte* data = nullptr;
};
static_assert(sizeof(VlenRef) == 16);

struct DTypeField;

struct DType {
  enum class Kind : uint8_t {
    kBool,       // one byte, 0 or 1
    kInt,        // two's complement, item_bytes 1, 2, 4, 8
    kUint,       //
    kFloat,      // IEEE 754 binary16/32/64, or what `format` names
    kComplex,    // two kFloat of item_bytes / 2 each, real first
    kRaw,        // opaque bytes: v3 r<bits> and raw_bytes, v2 |V<n>
    kBytes,      // fixed-length byte string, padded with NUL: v2 |S<n>, v3 null_terminated_bytes
    kUtf32,      // fixed-length UTF-32 text, padded with NUL: v2 <U<n>, v3 fixed_length_utf32
    kDatetime,   // int64 ticks since 1970 of `unit`; INT64_MIN is NaT
    kTimedelta,  // int64 ticks of `unit`; INT64_MIN is NaT
    kStruct,     // packed `fields`
    kString,     // variable-length UTF-8 text; elements in memory are VlenRef
    kVlenBytes,  // variable-length bytes; elements in memory are VlenRef
  };

  Kind kind = Kind::kRaw;
  uint64_t item_bytes = 0;          // of one element in memory; sizeof(VlenRef) for vlen kinds
  Endian endian = Endian::kLittle;  // of multi-byte numbers and UTF-32; for kStruct see the fields
  std::string format;               // "", or of kFloat "bfloat16", "float8_e4m3", …, of kInt and kUint "int4", …
  std::string unit;                 // kDatetime, kTimedelta: "ns", "s", "D", …, "generic"
  uint64_t scale_factor = 1;        // kDatetime, kTimedelta: one tick is scale_factor units
  std::vector<DTypeField> fields;   // kStruct, in order, at increasing offsets

  bool is_vlen() const { return kind == Kind::kString || kind == Kind::kVlenBytes; }
  // True where byte order matters to the element as a whole (not for structs).
  bool has_endian() const;

  static DType Bool();
  static DType Int(uint64_t item_bytes, Endian endian = Endian::kLittle);
  static DType Uint(uint64_t item_bytes, Endian endian = Endian::kLittle);
  static DType Float(uint64_t item_bytes, Endian endian = Endian::kLittle);
  static DType Complex(uint64_t item_bytes, Endian endian = Endian::kLittle);
  static DType Raw(uint64_t item_bytes);
  static DType Bytes(uint64_t item_bytes);
  static DType Utf32(uint64_t code_points, Endian endian = Endian::kLittle);
  static DType String();
  static DType VlenBytes();

  bool operator==(const DType& other) const;
};

struct DTypeField {
  std::string name;
  uint64_t offset_bytes = 0;
  std::vector<uint64_t> shape;  // of a sub-array member; empty for a plain one
  DType dtype;                  // of one element of the member

  bool operator==(const DTypeField& other) const = default;
};

}  // namespace h5zarr

#endif  // H5ZARR_BASE_DTYPE_H_
