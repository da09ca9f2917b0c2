// number_json: integers, bitfields and floats of any HDF5 type as JSON. Internal to shadow/.
#ifndef H5ZARR_SHADOW_NUMBER_JSON_H_
#define H5ZARR_SHADOW_NUMBER_JSON_H_

#include <hdf5.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "host/handle.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;

// How numbers of one type are written, looked up once for any number of elements. A number that Zarr has no
// type for is base64 of its bytes. Floats are as short as their width allows.
class NumberForm {
 public:
  // `type`, an integer, bitfield or float, must outlive this.
  explicit NumberForm(hid_t type);
  Result<Json> ToJson(const void* element) const;
  // kCorrupt where `json` is no number that the type can hold.
  Status FromJson(const Json& json, void* element) const;

 private:
  enum class Kind { kBytes, kInteger, kHostFloat, kHostDouble, kOtherFloat };
  uint64_t ReadBits(const void* element) const;
  void WriteBits(uint64_t bits, void* element) const;
  Result<double> Value(const void* element) const;
  Status IntegerFromJson(const Json& json, void* element) const;
  Status FloatFromJson(const Json& json, void* element) const;

  hid_t type_;
  Kind kind_ = Kind::kBytes;
  std::size_t size_bytes_;
  bool big_endian_ = false;
  bool signed_ = false;
  unsigned unused_bits_ = 0;  // of 64, of an integer
  uint64_t plain_nan_ = 0;    // of a float: what "NaN" stands for, or 0
  Handle host_double_;        // of a float that HDF5 converts
};

// "NaN", "Infinity", "-Infinity".
std::optional<double> NonFiniteWord(std::string_view word);
// 1.1f as 1.1, not as 1.10000002384185791015625.
double ShortestDouble(float value);

// Bytes as base64 text, and back into exactly `size_bytes` bytes.
Json BytesElementToJson(const void* element, std::size_t size_bytes);
Status BytesElementFromJson(const Json& json, void* element, std::size_t size_bytes);

// kCorrupt: `json` is no element of `type`.
Status BadElement(const Json& json, hid_t type);

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_NUMBER_JSON_H_
