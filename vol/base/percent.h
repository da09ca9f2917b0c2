// Percent-encoding, as in URLs and in the connector string.
#ifndef H5ZARR_BASE_PERCENT_H_
#define H5ZARR_BASE_PERCENT_H_

#include <string>
#include <string_view>

namespace h5zarr {

// `text` with each %XX as the byte it stands for; a '%' that no two hexadecimal digits follow stays.
std::string PercentDecoded(std::string_view text);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_PERCENT_H_
