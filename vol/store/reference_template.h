// The templates of kerchunk's reference files: "{{name}}" and, in generated references, integer
// expressions ("{{4 + i * 64}}").
//
// Within store/ only. Pure.
#ifndef H5ZARR_STORE_REFERENCE_TEMPLATE_H_
#define H5ZARR_STORE_REFERENCE_TEMPLATE_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

struct TemplateValues {
  std::map<std::string, std::string, std::less<>> texts;
  std::map<std::string, int64_t, std::less<>> numbers;
};

// `text` with every "{{…}}" replaced. kUnsupported, naming it, for one that is neither a name of
// `values` nor an integer expression of its numbers (+ - * / // % and parentheses): the rest of Jinja
// is a language of its own. kCorrupt for an arithmetic overflow or a division by zero.
Result<std::string> Expand(std::string_view text, const TemplateValues& values);

}  // namespace h5zarr

#endif  // H5ZARR_STORE_REFERENCE_TEMPLATE_H_
