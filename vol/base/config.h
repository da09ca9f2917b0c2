// Config: what a user may set, from the connector string, the environment and property lists.
//
// Grammar of the first: key=value;key=value with %XX for ';', '=', '%' and blanks in values. The
// table of keys is in README.md.
#ifndef H5ZARR_BASE_CONFIG_H_
#define H5ZARR_BASE_CONFIG_H_

#include <cstdint>
#include <string>
#include <string_view>

#include "base/status.h"

namespace h5zarr {

struct Config {
  enum class Create { kAuto, kZarr, kNative };
  enum class MaxShape { kAuto, kFixed, kUnlimited };
  enum class Io { kAuto, kPread, kUring, kDirect };
  enum class Shard { kOff, kAuto, kBytes };
  enum class Accelerate { kAuto, kOff, kAlways };
  enum class Codec { kFilters, kNone, kGzip, kZstd, kBlosc };

  Create create = Create::kAuto;
  int zarr_format = 3;
  MaxShape maxshape = MaxShape::kAuto;
  bool compound_struct = false;  // compound=struct rather than structured
  bool strict = false;
  Accelerate accelerate = Accelerate::kAuto;  // datasets of native files
  Shard shard = Shard::kOff;
  uint64_t shard_bytes = 0;       // with Shard::kBytes
  Codec codec = Codec::kFilters;  // of new arrays; kFilters: what their filters say
  int codec_level = -1;           // -1: the codec's own
  int threads = 0;                // 0: auto
  Io io = Io::kAuto;
  bool write_behind = false;  // writes return when their data are copied
  bool durable = false;
  uint64_t memory_bytes = 256ull << 20;
  uint64_t cache_bytes = 64ull << 20;
  // Remote stores:
  int concurrency = 32;  // requests at once to one server
  int retries = 8;
  int timeout_s = 30;           // without progress
  bool http2 = false;           // http_version=2
  bool missing_is_403 = false;  // missing=403
  std::string headers_file;
  std::string ca_file;    // certificates of authorities
  std::string cache_dir;  // of remote bytes; empty: none are kept
  uint64_t cache_dir_bytes = 4ull << 30;
  // Of s3:// alone; empty: as the environment and Amazon's files say.
  std::string s3_endpoint;
  std::string s3_region;
  enum class S3Style { kAuto, kPath, kVirtual } s3_style = S3Style::kAuto;
  std::string mirror;         // where files that are written are mirrored to; empty: nowhere
  bool mirror_fails = false;  // mirror_on_error=fail
  int trace = 0;              // a TraceLevel

  // Applies "key=value;…" on top of this. kInvalidArgument for an unknown key (the message lists
  // the valid ones) or a value that is none of the key's.
  Status Apply(std::string_view text);
  // Applies H5ZARR_<KEY> of every key that is set. Called once, when the plugin is initialised.
  Status ApplyEnvironment();
};

}  // namespace h5zarr

#endif  // H5ZARR_BASE_CONFIG_H_
