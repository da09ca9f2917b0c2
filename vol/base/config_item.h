// Single items of the configuration, for what looks at one alone. Their values were checked by Config.
#ifndef H5ZARR_BASE_CONFIG_ITEM_H_
#define H5ZARR_BASE_CONFIG_ITEM_H_

#include <optional>
#include <string>
#include <string_view>

namespace h5zarr {

// The value of `key` in "key=value;…", the last one; nothing when it is not there.
std::optional<std::string> ConfigItem(std::string_view text, std::string_view key);
// The same of H5ZARR_<KEY> in the environment.
std::optional<std::string> ConfigItemOfEnvironment(std::string_view key);

}  // namespace h5zarr

#endif  // H5ZARR_BASE_CONFIG_ITEM_H_
