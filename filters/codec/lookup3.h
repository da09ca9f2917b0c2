// Bob Jenkins' lookup3 (hashlittle): the checksum of numcodecs' JenkinsLookup3, and of HDF5's metadata.
#ifndef H5ZARR_CODEC_LOOKUP3_H_
#define H5ZARR_CODEC_LOOKUP3_H_

#include <cstdint>

#include "base/buffer.h"

namespace h5zarr::codec {

uint32_t Lookup3(ByteSpan bytes, uint32_t initial);

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_LOOKUP3_H_
