#include "base/config.h"

#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "base/percent.h"

namespace h5zarr {
namespace {

std::optional<uint64_t> ParseBytes(std::string_view text) {
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  const std::string_view unit(end, text.data() + text.size() - end);
  int shift = 0;
  if (unit.empty() || unit == "B") shift = 0;
  else if (unit == "K" || unit == "KiB" || unit == "k") shift = 10;
  else if (unit == "M" || unit == "MiB") shift = 20;
  else if (unit == "G" || unit == "GiB") shift = 30;
  else return std::nullopt;
  if (number > (UINT64_MAX >> shift)) return std::nullopt;
  return number << shift;
}

std::optional<int> ParseInt(std::string_view text, int low, int high) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  if (number < low || number > high) return std::nullopt;
  return number;
}

template <typename T>
bool Choose(std::string_view value, T* target, std::initializer_list<std::pair<std::string_view, T>> choices) {
  for (const auto& [name, choice] : choices) {
    if (value == name) {
      *target = choice;
      return true;
    }
  }
  return false;
}

bool SetInt(std::string_view value, int low, int high, int* target) {
  const std::optional<int> number = ParseInt(value, low, high);
  if (number) *target = *number;
  return number.has_value();
}

bool SetBytes(std::string_view value, uint64_t* target) {
  const std::optional<uint64_t> bytes = ParseBytes(value);
  if (bytes) *target = *bytes;
  return bytes.has_value();
}

bool SetText(std::string_view value, std::string* target) {
  *target = value;
  return !value.empty();
}

bool SetShard(std::string_view value, Config* config) {
  if (Choose<Config::Shard>(value, &config->shard, {{"off", Config::Shard::kOff}, {"auto", Config::Shard::kAuto}})) {
    return true;
  }
  if (!SetBytes(value, &config->shard_bytes)) return false;
  config->shard = Config::Shard::kBytes;
  return true;
}

// "zstd", "zstd:5".
bool SetCodec(std::string_view value, Config* config) {
  const std::size_t colon = value.find(':');
  if (!Choose<Config::Codec>(value.substr(0, colon), &config->codec,
                             {{"filters", Config::Codec::kFilters},
                              {"none", Config::Codec::kNone},
                              {"gzip", Config::Codec::kGzip},
                              {"zstd", Config::Codec::kZstd},
                              {"blosc", Config::Codec::kBlosc}})) {
    return false;
  }
  config->codec_level = -1;
  if (colon == std::string_view::npos) return true;
  const bool has_level = config->codec != Config::Codec::kFilters && config->codec != Config::Codec::kNone;
  const int most = config->codec == Config::Codec::kZstd ? 22 : 9;
  return has_level && SetInt(value.substr(colon + 1), 0, most, &config->codec_level);
}

struct Key {
  std::string_view name;
  std::string_view values;  // for messages
  bool (*set)(std::string_view value, Config* config);
};

constexpr Key kKeys[] = {
    {"create", "auto, zarr, native",
     [](std::string_view v, Config* c) {
       return Choose<Config::Create>(
           v, &c->create,
           {{"auto", Config::Create::kAuto}, {"zarr", Config::Create::kZarr}, {"native", Config::Create::kNative}});
     }},
    {"zarr_format", "3, 2", [](std::string_view v, Config* c) { return SetInt(v, 2, 3, &c->zarr_format); }},
    {"maxshape", "auto, fixed, unlimited",
     [](std::string_view v, Config* c) {
       return Choose<Config::MaxShape>(v, &c->maxshape,
                                       {{"auto", Config::MaxShape::kAuto},
                                        {"fixed", Config::MaxShape::kFixed},
                                        {"unlimited", Config::MaxShape::kUnlimited}});
     }},
    {"compound", "structured, struct",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->compound_struct, {{"structured", false}, {"struct", true}});
     }},
    {"strict", "0, 1",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->strict, {{"0", false}, {"1", true}});
     }},
    {"accelerate", "auto, off, always",
     [](std::string_view v, Config* c) {
       return Choose<Config::Accelerate>(v, &c->accelerate,
                                         {{"auto", Config::Accelerate::kAuto},
                                          {"off", Config::Accelerate::kOff},
                                          {"always", Config::Accelerate::kAlways}});
     }},
    {"shard", "off, auto, a number of bytes", [](std::string_view v, Config* c) { return SetShard(v, c); }},
    {"codec", "filters, none, gzip, zstd, blosc; the last three also with a level (zstd:5)",
     [](std::string_view v, Config* c) { return SetCodec(v, c); }},
    {"threads", "auto, 1 to 1024",
     [](std::string_view v, Config* c) {
       return Choose<int>(v, &c->threads, {{"auto", 0}}) || SetInt(v, 1, 1024, &c->threads);
     }},
    {"io", "auto, pread, uring, direct",
     [](std::string_view v, Config* c) {
       return Choose<Config::Io>(v, &c->io,
                                 {{"auto", Config::Io::kAuto},
                                  {"pread", Config::Io::kPread},
                                  {"uring", Config::Io::kUring},
                                  {"direct", Config::Io::kDirect}});
     }},
    {"write", "through, behind",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->write_behind, {{"through", false}, {"behind", true}});
     }},
    {"durable", "0, 1",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->durable, {{"0", false}, {"1", true}});
     }},
    {"memory", "a number of bytes, e.g. 256MiB",
     [](std::string_view v, Config* c) { return SetBytes(v, &c->memory_bytes); }},
    {"cache_bytes", "a number of bytes, e.g. 64MiB",
     [](std::string_view v, Config* c) { return SetBytes(v, &c->cache_bytes); }},
    {"concurrency", "1 to 1024", [](std::string_view v, Config* c) { return SetInt(v, 1, 1024, &c->concurrency); }},
    {"retries", "0 to 100", [](std::string_view v, Config* c) { return SetInt(v, 0, 100, &c->retries); }},
    {"timeout_s", "1 to 3600", [](std::string_view v, Config* c) { return SetInt(v, 1, 3600, &c->timeout_s); }},
    {"http_version", "1.1, 2",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->http2, {{"1.1", false}, {"2", true}});
     }},
    {"missing", "404, 403",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->missing_is_403, {{"404", false}, {"403", true}});
     }},
    {"headers_file", "the path of a file", [](std::string_view v, Config* c) { return SetText(v, &c->headers_file); }},
    {"ca_file", "the path of a file", [](std::string_view v, Config* c) { return SetText(v, &c->ca_file); }},
    {"cache_dir", "the absolute path of a folder",
     [](std::string_view v, Config* c) { return SetText(v, &c->cache_dir); }},
    {"cache_dir_bytes", "a number of bytes, e.g. 4GiB",
     [](std::string_view v, Config* c) { return SetBytes(v, &c->cache_dir_bytes); }},
    {"s3_endpoint", "the URL of a server", [](std::string_view v, Config* c) { return SetText(v, &c->s3_endpoint); }},
    {"s3_region", "the name of a region", [](std::string_view v, Config* c) { return SetText(v, &c->s3_region); }},
    {"s3_style", "auto, path, virtual",
     [](std::string_view v, Config* c) {
       return Choose<Config::S3Style>(v, &c->s3_style,
                                      {{"auto", Config::S3Style::kAuto},
                                       {"path", Config::S3Style::kPath},
                                       {"virtual", Config::S3Style::kVirtual}});
     }},
    {"mirror", "off, the path of a folder, s3://BUCKET/NAME",
     [](std::string_view v, Config* c) {
       c->mirror = v == "off" ? "" : v;
       return !v.empty();
     }},
    {"mirror_on_error", "warn, fail",
     [](std::string_view v, Config* c) {
       return Choose<bool>(v, &c->mirror_fails, {{"warn", false}, {"fail", true}});
     }},
    {"trace", "0, 1, 2, 3", [](std::string_view v, Config* c) { return SetInt(v, 0, 3, &c->trace); }},
};

std::string KeyNames() {
  std::string names;
  for (const Key& key : kKeys) {
    if (!names.empty()) names += ", ";
    names += key.name;
  }
  return names;
}

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string VariableOf(std::string_view key) {
  std::string variable = "H5ZARR_";
  for (char c : key) variable += static_cast<char>(c >= 'a' && c <= 'z' ? c - 32 : c);
  return variable;
}

Status ApplyOne(std::string_view name, std::string_view value, Config* config) {
  for (const Key& key : kKeys) {
    if (key.name != name) continue;
    if (key.set(value, config)) return OkStatus();
    return InvalidArgumentError("h5zarr configuration: " + std::string(name) + "=" + std::string(value) +
                                " is not one of: " + std::string(key.values));
  }
  return InvalidArgumentError("h5zarr configuration: unknown key '" + std::string(name) + "'; the valid keys are " +
                              KeyNames());
}

}  // namespace

Status Config::Apply(std::string_view text) {
  while (!text.empty()) {
    const std::size_t semicolon = text.find(';');
    const std::string_view item = Trim(text.substr(0, semicolon));
    text = semicolon == std::string_view::npos ? std::string_view() : text.substr(semicolon + 1);
    if (item.empty()) continue;
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      return InvalidArgumentError("h5zarr configuration: '" + std::string(item) +
                                  "' is not key=value; the valid keys are " + KeyNames());
    }
    const std::string value = PercentDecoded(Trim(item.substr(equals + 1)));
    H5ZARR_RETURN_IF_ERROR(ApplyOne(Trim(item.substr(0, equals)), value, this));
  }
  return OkStatus();
}

Status Config::ApplyEnvironment() {
  for (const Key& key : kKeys) {
    const std::string variable = VariableOf(key.name);
    const char* value = std::getenv(variable.c_str());
    if (value != nullptr && *value != '\0') {
      H5ZARR_RETURN_IF_ERROR(ApplyOne(key.name, value, this).WithContext(variable));
    }
  }
  return OkStatus();
}

}  // namespace h5zarr
