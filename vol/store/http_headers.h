// What is read of an answer's header lines.
//
// Within store/ only. Pure values.
#ifndef H5ZARR_STORE_HTTP_HEADERS_H_
#define H5ZARR_STORE_HTTP_HEADERS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace h5zarr {

// "bytes first-last/total"; of an unsatisfiable range only the total is there ("bytes */total").
struct ContentRange {
  std::optional<uint64_t> first;
  std::optional<uint64_t> last;
  std::optional<uint64_t> total;
};
std::optional<ContentRange> ParseContentRange(std::string_view value);

struct HttpHeaders {
  int status = 0;
  std::string etag;
  std::string last_modified;
  std::string location;
  std::string content_encoding;
  std::optional<uint64_t> content_length;
  std::optional<ContentRange> content_range;
  std::optional<int> retry_after_s;
  std::string bucket_region;  // of S3
  bool no_store = false;      // Cache-Control: nobody is to keep it

  // Takes one line of a header. A status line begins a new header: that of the answer itself follows those
  // of interim answers.
  void AddLine(std::string_view line);
  // "503 Service Unavailable"
  std::string ShownStatus() const;
};

}  // namespace h5zarr

#endif  // H5ZARR_STORE_HTTP_HEADERS_H_
