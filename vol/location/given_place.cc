#include "location/given_place.h"

#include <map>
#include <utility>

namespace h5zarr {
namespace {

using Places = std::map<std::string, GivenPlace::Make>;

// Leaked: stores may be opened while static objects are destroyed.
Places& GivenPlaces() {
  static Places* const places = new Places;
  return *places;
}

// Absolute, and in no folder: there is nothing around it.
std::string NewLocation() {
  static int count = 0;
  return "/h5zarr:given:" + std::to_string(++count);
}

}  // namespace

GivenPlace::GivenPlace(Make make) : location_(NewLocation()) { GivenPlaces().emplace(location_, std::move(make)); }

GivenPlace::~GivenPlace() { GivenPlaces().erase(location_); }

bool IsGivenPlace(const std::string& location) { return GivenPlaces().count(location) != 0; }

std::unique_ptr<Store> OpenGivenPlace(const std::string& location) {
  const auto found = GivenPlaces().find(location);
  return found != GivenPlaces().end() ? found->second() : nullptr;
}

}  // namespace h5zarr
