// dimension_scales: the names of Zarr's dimensions ↔ HDF5's dimension scales, as far as documents
// alone say it. Internal to shadow/.
//
// Zarr names the dimensions of an array (v3: dimension_names; v2: _ARRAY_DIMENSIONS, NCZarr's
// dimension references). HDF5 attaches a scale to each: a dataset, whose attribute CLASS says that
// it is one. A name means the scale that is nearest:
//   - the one-dimensional array of that name and extent whose only dimension has that name, in the
//     array's own group or else in the closest group around it;
//   - else, if all arrays of the group agree on its extent, a *bare dimension*: netCDF's dimension
//     without a variable. HDF5 programs see it as a dataset without data; Zarr holds no array.
// What an HDF5 program did otherwise is said in `_hdf5`: `scale` and `scales` below, and
// `dimensions` of a group, the documents of its bare dimensions.
#ifndef H5ZARR_SHADOW_DIMENSION_SCALES_H_
#define H5ZARR_SHADOW_DIMENSION_SCALES_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "zarr/hierarchy.h"
#include "zarr/json.h"

namespace h5zarr::shadow {

using zarr::Json;
using DimensionNames = std::vector<std::optional<std::string>>;

// One name a dimension, or nothing where the array's dimensions have no names.
DimensionNames DimensionNamesOf(const zarr::ArrayMetadata& metadata);
// Replaces the names (`names` may be shorter than the array's rank: HDF5's rank is, where elements
// are arrays). Names that occur twice are left out but for the first: some readers refuse them.
void SetDimensionNames(DimensionNames names, zarr::ArrayMetadata* metadata);

// CLASS, NAME, DIMENSION_LIST, REFERENCE_LIST, DIMENSION_LABELS: what HDF5 keeps scales in.
bool IsDimensionAttribute(std::string_view name);

// What an array is among scales, in HDF5's terms.
struct DimensionState {
  bool is_scale = false;
  std::optional<std::string> scale_name;         // NAME, where there is one
  std::vector<std::vector<std::string>> scales;  // paths attached, by dimension; empty: none at all
  std::vector<std::string> labels;               // by dimension, "" for none; empty: none at all
  bool operator==(const DimensionState&) const = default;
};

// What `metadata` says by itself of an array called `own_name` with `rank` dimensions in HDF5:
// its role from `_hdf5.scale` or else from its names; nothing attached, no labels.
DimensionState RoleFromMetadata(const zarr::ArrayMetadata& metadata, std::string_view own_name, std::size_t rank);

// `_hdf5.scales` (paths or false) and `_hdf5.labels` where they are there and have the form.
std::optional<std::vector<std::vector<std::string>>> RecordedScales(const Json& attributes, std::size_t rank);
std::optional<std::vector<std::string>> RecordedLabels(const Json& attributes, std::size_t rank);

// The names that a state gives the dimensions of array `own_name`: labels go before scales, a
// scale's own dimension has its own name.
DimensionNames NamesFromState(const DimensionState& state, std::string_view own_name, std::size_t rank);

// NAME of a bare dimension, as netCDF writes it; and whether a NAME is such a one.
std::string BareDimensionName(uint64_t extent);
bool IsBareDimensionName(std::string_view scale_name);
// An array that stands for a bare dimension, without anything stored.
zarr::ArrayMetadata MakeBareDimension(const std::string& name, uint64_t extent, int zarr_format);
// An array's document as a member of its group's `_hdf5.dimensions`, and back with `extent` where
// that is given. kCorrupt, kUnsupported as for any document.
Result<Json> DocumentOfBareDimension(const zarr::ArrayMetadata& metadata);
Result<zarr::ArrayMetadata> BareDimensionFromDocument(const Json& document, const std::string& name, int zarr_format,
                                                      std::optional<uint64_t> extent);

// Gathers the dimensions of a group's arrays, one after the other.
class DimensionCensus {
 public:
  void Add(const zarr::ArrayMetadata& metadata);
  // The extents of the dimensions that all arrays agree on and that some array uses all of whose
  // dimensions are such. Arrays whose scales are recorded have no say in what is used.
  std::map<std::string, uint64_t> Agreed() const;

 private:
  std::map<std::string, std::optional<uint64_t>> extents_;  // nothing: they differ
  std::vector<std::vector<std::string>> users_;
};

}  // namespace h5zarr::shadow

#endif  // H5ZARR_SHADOW_DIMENSION_SCALES_H_
