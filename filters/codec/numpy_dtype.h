// NumPy's short and long spellings of numeric types, as numcodecs configurations hold them. Private
// to filters/codec.
#ifndef H5ZARR_CODEC_NUMPY_DTYPE_H_
#define H5ZARR_CODEC_NUMPY_DTYPE_H_

#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace h5zarr::codec {

// "<f4", ">i8", "|u1", "f8", "float32", "bool", "?"…: booleans, integers and IEEE floats. Nothing
// for any other type. Without a byte order it is `native`.
std::optional<DType> ParseNumpyDType(std::string_view text, Endian native);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_NUMPY_DTYPE_H_
