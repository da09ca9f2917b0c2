// Answers of S3 in XML, as far as we read them.
//
// Within store/ only. Pure.
#ifndef H5ZARR_STORE_S3_LISTING_H_
#define H5ZARR_STORE_S3_LISTING_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace h5zarr {

// One page of ListObjectsV2.
struct S3Page {
  struct Object {
    std::string key;
    uint64_t size_bytes = 0;
  };
  std::vector<Object> objects;
  std::vector<std::string> prefixes;  // each with its '/' at the end
  std::string next_token;             // empty: this is the last page
};

// kCorrupt, naming `what`, for an answer that is no such page.
Result<S3Page> ParseS3Page(std::string_view xml, const std::string& what);

// The text of the first element `name` in `xml`; nothing where there is none, or its text makes no sense.
std::optional<std::string> XmlText(std::string_view xml, std::string_view name);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_S3_LISTING_H_
