// A place that somebody within the process has made: as long as it is given, its location leads to it.
#ifndef H5ZARR_LOCATION_GIVEN_PLACE_H_
#define H5ZARR_LOCATION_GIVEN_PLACE_H_

#include <functional>
#include <memory>
#include <string>

#include "store/store.h"

namespace h5zarr {

// Used under HDF5's lock only, as OpenLocation is.
class GivenPlace {
 public:
  using Make = std::function<std::unique_ptr<Store>()>;

  // `make` is called whenever the location is opened. At most one of a location at a time.
  explicit GivenPlace(Make make);
  ~GivenPlace();
  GivenPlace(const GivenPlace&) = delete;
  GivenPlace& operator=(const GivenPlace&) = delete;

  // A name that leads nowhere else.
  const std::string& location() const { return location_; }

 private:
  const std::string location_;
};

bool IsGivenPlace(const std::string& location);
// The store at a given location; null for any other.
std::unique_ptr<Store> OpenGivenPlace(const std::string& location);

}  // namespace h5zarr

#endif  // H5ZARR_LOCATION_GIVEN_PLACE_H_
