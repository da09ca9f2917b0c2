// Listing what is known by its keys alone.
//
// Within store/ and zarr/.
#ifndef H5ZARR_STORE_LIST_KEYS_H_
#define H5ZARR_STORE_LIST_KEYS_H_

#include <string>
#include <string_view>
#include <vector>

#include "store/store.h"

namespace h5zarr {

// Store::List of the folder `prefix`, from a map by key (std::less<>).
template <typename Map>
std::vector<ListEntry> ListKeys(const Map& by_key, std::string_view prefix) {
  const std::string start = prefix.empty() ? std::string() : std::string(prefix) + "/";
  std::vector<ListEntry> entries;
  for (auto it = by_key.lower_bound(start); it != by_key.end() && it->first.starts_with(start);) {
    const std::string_view rest = std::string_view(it->first).substr(start.size());
    const std::size_t slash = rest.find('/');
    const std::string name(rest.substr(0, slash));
    if (slash == std::string_view::npos) {
      entries.push_back({name, false});
      ++it;
    } else {
      entries.push_back({name, true});
      it = by_key.lower_bound(start + name + static_cast<char>('/' + 1));
    }
  }
  return entries;
}

}  // namespace h5zarr

#endif  // H5ZARR_STORE_LIST_KEYS_H_
