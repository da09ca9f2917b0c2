// ConfigReader: a codec's configuration object, read member by member and then checked for members
// nobody asked for. Private to filters/codec.
#ifndef H5ZARR_CODEC_CODEC_CONFIG_H_
#define H5ZARR_CODEC_CODEC_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "codec/registry.h"

namespace h5zarr::codec {

// Getters never fail on their own: the first thing wrong is remembered and returned by Finish,
// which a factory calls before it uses any value. A member that is null counts as absent, as Python
// peers write it. Not thread-safe; `configuration` must outlive the reader.
class ConfigReader {
 public:
  ConfigReader(std::string_view codec, const Json& configuration);

  bool Has(std::string_view member) const;
  // The member, known from now on; null pointer where absent.
  const Json* Get(std::string_view member);
  // The member, or `fallback` where absent; kInvalidArgument (in Finish) for another type or a
  // value outside [min, max].
  int64_t Int(std::string_view member, int64_t fallback, int64_t min, int64_t max);
  double Number(std::string_view member, double fallback);
  bool Bool(std::string_view member, bool fallback);
  std::string String(std::string_view member, std::string_view fallback);
  // Finish fails where the member is absent.
  void Require(std::string_view member);
  // The member is known and has no effect here.
  void Ignore(std::string_view member);
  // Remembers `member` as wrong, unless something was wrong before.
  void Fail(std::string_view member, std::string_view expected);

  // The first failure so far, unknown members aside.
  const Status& failure() const { return failure_; }
  // The first failure, or kInvalidArgument naming a member that no getter asked for.
  Status Finish() const;

 private:
  std::string codec_;
  const Json& configuration_;
  std::vector<std::string> known_;
  Status failure_;
};

}  // namespace h5zarr::codec

#endif  // H5ZARR_CODEC_CODEC_CONFIG_H_
