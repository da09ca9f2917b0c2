#include "codec/codec_config.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace h5zarr::codec {
namespace {

std::string Shown(const Json& value) {
  std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > 80) text = text.substr(0, 80) + "...";
  return text;
}

// Integers may be spelled 5 or 5.0.
bool ToInt(const Json& value, int64_t* out) {
  if (value.is_number_unsigned()) {
    const uint64_t number = value.get<uint64_t>();
    if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return false;
    *out = static_cast<int64_t>(number);
    return true;
  }
  if (value.is_number_integer()) {
    *out = value.get<int64_t>();
    return true;
  }
  if (!value.is_number_float()) return false;
  const double number = value.get<double>();
  if (!(std::fabs(number) < 9e15) || number != std::floor(number)) return false;
  *out = static_cast<int64_t>(number);
  return true;
}

}  // namespace

ConfigReader::ConfigReader(std::string_view codec, const Json& configuration)
    : codec_(codec), configuration_(configuration) {
  if (!configuration.is_null() && !configuration.is_object()) {
    failure_ =
        InvalidArgumentError("codec " + codec_ + ": configuration is " + Shown(configuration) + ", expected an object");
  }
  Ignore("id");  // v2 keeps a codec's name among its parameters
}

bool ConfigReader::Has(std::string_view member) const {
  if (!configuration_.is_object()) return false;
  const auto found = configuration_.find(std::string(member));
  return found != configuration_.end() && !found->is_null();
}

const Json* ConfigReader::Get(std::string_view member) {
  known_.emplace_back(member);
  return Has(member) ? &*configuration_.find(std::string(member)) : nullptr;
}

int64_t ConfigReader::Int(std::string_view member, int64_t fallback, int64_t min, int64_t max) {
  const Json* value = Get(member);
  if (value == nullptr) return fallback;
  int64_t number = 0;
  if (!ToInt(*value, &number) || number < min || number > max) {
    Fail(member, "an integer from " + std::to_string(min) + " to " + std::to_string(max));
    return fallback;
  }
  return number;
}

double ConfigReader::Number(std::string_view member, double fallback) {
  const Json* value = Get(member);
  if (value == nullptr) return fallback;
  if (!value->is_number()) {
    Fail(member, "a number");
    return fallback;
  }
  return value->get<double>();
}

bool ConfigReader::Bool(std::string_view member, bool fallback) {
  const Json* value = Get(member);
  if (value == nullptr) return fallback;
  if (!value->is_boolean()) {
    Fail(member, "true or false");
    return fallback;
  }
  return value->get<bool>();
}

std::string ConfigReader::String(std::string_view member, std::string_view fallback) {
  const Json* value = Get(member);
  if (value == nullptr) return std::string(fallback);
  if (!value->is_string()) {
    Fail(member, "a string");
    return std::string(fallback);
  }
  return value->get<std::string>();
}

void ConfigReader::Require(std::string_view member) {
  if (!Has(member) && failure_.ok()) {
    failure_ = InvalidArgumentError("codec " + codec_ + ": configuration lacks \"" + std::string(member) + "\"");
  }
}

void ConfigReader::Ignore(std::string_view member) { known_.emplace_back(member); }

void ConfigReader::Fail(std::string_view member, std::string_view expected) {
  if (!failure_.ok()) return;
  const std::string value = Has(member) ? Shown(*configuration_.find(std::string(member))) : std::string("absent");
  failure_ = InvalidArgumentError("codec " + codec_ + ": \"" + std::string(member) + "\" is " + value + ", expected " +
                                  std::string(expected));
}

Status ConfigReader::Finish() const {
  if (!failure_.ok() || !configuration_.is_object()) return failure_;
  for (const auto& item : configuration_.items()) {
    if (std::find(known_.begin(), known_.end(), item.key()) == known_.end()) {
      return InvalidArgumentError("codec " + codec_ + ": unknown member \"" + item.key() + "\" in its configuration");
    }
  }
  return OkStatus();
}

}  // namespace h5zarr::codec
